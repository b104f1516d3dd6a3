//! Encryption to upstreams.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::UpstreamError;

/// TLS towards one upstream. Certificates are read when the first connection is made: many users
/// never make one, and the machine's bundle takes memory.
pub(super) struct UpstreamTls {
    ca_file: Option<PathBuf>,
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
    /// The upstream declined HTTP/1.1.
    only_http2: AtomicBool,
}

/// An encrypted connection, by what is spoken on it.
pub(super) enum NegotiatedStream {
    Http1(TlsStream<TcpStream>),
    Http2(TlsStream<TcpStream>),
    /// The upstream declined HTTP/1.1 and hung up: connect once more for HTTP/2.
    Http1Declined,
}

impl std::fmt::Debug for UpstreamTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("ca_file", &self.ca_file).finish_non_exhaustive()
    }
}

impl UpstreamTls {
    pub(super) fn new(ca_file: Option<PathBuf>) -> Self {
        Self { ca_file, config: OnceLock::new(), only_http2: AtomicBool::new(false) }
    }

    /// Whether the upstream is known to speak nothing but HTTP/2.
    pub(super) fn is_only_http2(&self) -> bool {
        self.only_http2.load(Ordering::Relaxed)
    }

    pub(super) async fn handshake(&self, host: &str, tcp: TcpStream) -> Result<NegotiatedStream, UpstreamError> {
        let failed = |problem: String| UpstreamError::Tls { host: host.to_owned(), problem };
        let mut config = self.config.get_or_init(|| self.build()).clone().map_err(failed)?;
        let http2 = self.is_only_http2();
        if http2 {
            Arc::make_mut(&mut config).alpn_protocols = vec![b"h2".to_vec()];
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
        match TlsConnector::from(config).connect(name, tcp).await {
            Ok(tls) if tls.get_ref().1.alpn_protocol() == Some(b"h2") => Ok(NegotiatedStream::Http2(tls)),
            Ok(tls) => Ok(NegotiatedStream::Http1(tls)),
            Err(error) if !http2 && declines_http1(&error) => {
                self.only_http2.store(true, Ordering::Relaxed);
                Ok(NegotiatedStream::Http1Declined)
            }
            Err(error) => Err(failed(explain(&error))),
        }
    }

    fn build(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        let native = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(native.certs);
        if roots.is_empty() {
            // A bare container: the usual public authorities have to do.
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        if let Some(path) = &self.ca_file {
            let unreadable =
                |problem: String| format!("the certificates in {} cannot be used: {problem}", path.display());
            let pem = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
            for certificate in pem {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn declines_http1(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)))
}

/// The usual ways a certificate fails, in plain words.
fn explain(error: &std::io::Error) -> String {
    use rustls::CertificateError as Certificate;
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(Certificate::UnknownIssuer)) => {
            "its certificate is signed by nobody this machine trusts; if that is your company's or your own authority, \
             name its certificate as `ca_file` of this upstream"
                .to_owned()
        }
        Some(rustls::Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. })) => {
            "its certificate has expired (or this machine's clock is wrong)".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        )) => "its certificate is for another name; is the address right?".to_owned(),
        Some(rustls::Error::InvalidMessage(_)) => {
            "it does not speak TLS on that port; should the address begin with http://?".to_owned()
        }
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}
