//! Outgoing connections, and the user behind incoming ones.
//!
//! # Theory of operation
//!
//! Belay connects to the model APIs that agents use and to the webhook that the user configured. Both carry secrets, so
//! both follow the same rules. URLs are parsed strictly; an ambiguous URL is refused. A name is resolved once, refused
//! addresses are dropped, and the connection goes to a checked address instead of the name, which prevents DNS rebinding.
//! Redirects are never followed. TLS trusts the system's roots and a CA file that the user names.
//!
//! The crate knows nothing about agents, sessions or alerts and depends on no other Belay crate.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`url`] | the URL parser |
//! | [`guard`] | addresses that Belay never connects to, and where plain HTTP is acceptable |
//! | [`mod@resolve`] | names to checked addresses, async and blocking |
//! | [`tls`] | roots, client configuration, the choice between HTTP/1.1 and HTTP/2 |
//! | [`egress`] | `HTTPS_PROXY`: the proxy of the network Belay runs in |
//! | [`mod@peer_user`] | the user at the other end of a loopback connection |
//! | [`mod@post`] | one blocking HTTP POST, bounded in time and size |

pub mod egress;
pub mod guard;
pub mod peer_user;
pub mod post;
pub mod resolve;
pub mod tls;
pub mod url;

pub use egress::{EgressProxy, HttpProxy, TunnelError};
pub use guard::{REFUSED_NETWORKS, RefusedNetwork, is_local_network, refused_network};
pub use peer_user::{PeerUser, peer_user};
pub use post::post;
pub use resolve::{ResolveError, resolve, resolve_blocking};
pub use tls::{NegotiatedStream, TlsClient};
pub use url::{HttpUrl, UrlError, is_loopback_authority};
