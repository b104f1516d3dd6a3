//! Outgoing connections.
//!
//! # Theory of operation
//!
//! Belay connects to two kinds of places: the model APIs that agents use, and the webhook that the
//! user has configured. Both carry secrets, so both follow the same rules. A URL is parsed strictly:
//! what is ambiguous is refused, never repaired. A name is resolved once, addresses in the table of
//! refused addresses are dropped, and the connection goes to an address that passed the check, not to
//! the name; so a name that changes between check and connection gains nothing. Redirects are never
//! followed. TLS trusts what the machine trusts, plus a file that the user names.
//!
//! The crate knows nothing of agents, sessions or alerts and depends on no other crate of Belay.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`url`] | the URL parser |
//! | [`guard`] | addresses that Belay never connects to, and where plain HTTP is acceptable |
//! | [`mod@resolve`] | names to checked addresses, async and blocking |
//! | [`tls`] | roots, client configuration, the choice between HTTP/1.1 and HTTP/2 |
//! | [`egress`] | `HTTPS_PROXY`: the proxy of the network Belay runs in |
//! | [`mod@post`] | one blocking HTTP POST, bounded in time and size |

pub mod egress;
pub mod guard;
pub mod post;
pub mod resolve;
pub mod tls;
pub mod url;

pub use egress::{EgressProxy, HttpProxy, TunnelError};
pub use guard::{REFUSED_NETWORKS, RefusedNetwork, is_local_network, refused_network};
pub use post::post;
pub use resolve::{ResolveError, resolve, resolve_blocking};
pub use tls::{NegotiatedStream, TlsClient};
pub use url::{HttpUrl, UrlError};
