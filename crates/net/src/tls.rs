//! TLS of outgoing connections.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Why a TLS connection failed, for the person who configured the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(String);

/// TLS towards one host. Certificates are read when the first connection is made: many users
/// never make one, and the machine's bundle takes memory.
pub struct TlsClient {
    ca_file: Option<PathBuf>,
    config: OnceLock<Result<Arc<ClientConfig>, TlsError>>,
    /// The host declined HTTP/1.1.
    only_http2: AtomicBool,
}

/// An encrypted connection, by the protocol it carries.
pub enum NegotiatedStream {
    Http1(TlsStream<TcpStream>),
    Http2(TlsStream<TcpStream>),
    /// The host declined HTTP/1.1 and closed the connection: connect once more for HTTP/2.
    Http1Declined,
}

impl std::fmt::Debug for NegotiatedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Http1(_) => "Http1",
            Self::Http2(_) => "Http2",
            Self::Http1Declined => "Http1Declined",
        })
    }
}

impl std::fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsClient").field("ca_file", &self.ca_file).finish_non_exhaustive()
    }
}

impl TlsClient {
    /// `ca_file`: certificates to trust in addition to those of the machine (PEM).
    pub fn new(ca_file: Option<PathBuf>) -> Self {
        Self { ca_file, config: OnceLock::new(), only_http2: AtomicBool::new(false) }
    }

    /// Offers HTTP/1.1; HTTP/2 only to a host that has declined HTTP/1.1.
    pub async fn handshake(&self, host: &str, tcp: TcpStream) -> Result<NegotiatedStream, TlsError> {
        let mut config = self.config.get_or_init(|| self.http1_config()).clone()?;
        let http2 = self.only_http2.load(Ordering::Relaxed);
        if http2 {
            Arc::make_mut(&mut config).alpn_protocols = vec![b"h2".to_vec()];
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|error| TlsError(error.to_string()))?;
        match TlsConnector::from(config).connect(name, tcp).await {
            Ok(tls) if tls.get_ref().1.alpn_protocol() == Some(b"h2") => Ok(NegotiatedStream::Http2(tls)),
            Ok(tls) => Ok(NegotiatedStream::Http1(tls)),
            Err(error) if !http2 && declines_http1(&error) => {
                self.only_http2.store(true, Ordering::Relaxed);
                Ok(NegotiatedStream::Http1Declined)
            }
            Err(error) => Err(TlsError(explain(&error))),
        }
    }

    fn http1_config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let mut config = client_config(self.ca_file.as_deref())?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// A client that trusts what this machine trusts, and the certificates in `ca_file`.
pub(crate) fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError(error.to_string()))?;
    Ok(builder.with_root_certificates(roots(ca_file)?).with_no_client_auth())
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        // A minimal container has no bundle: fall back to the public authorities.
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(path) = ca_file {
        let unreadable =
            |problem: String| TlsError(format!("the certificates in {} cannot be used: {problem}", path.display()));
        let pem = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
        for certificate in pem {
            let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
            roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
        }
    }
    Ok(roots)
}

fn declines_http1(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)))
}

/// The common causes, with what to do.
fn explain(error: &std::io::Error) -> String {
    use rustls::CertificateError as Certificate;
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(Certificate::UnknownIssuer)) => {
            "its certificate is signed by an authority that this machine does not trust; if it is your company's or your \
             own, set `ca_file` of this upstream to its certificate"
                .to_owned()
        }
        Some(rustls::Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. })) => {
            "its certificate has expired (or this machine's clock is wrong)".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        )) => "its certificate is for another name; check the URL".to_owned(),
        Some(rustls::Error::InvalidMessage(_)) => {
            "it does not speak TLS on that port; should the URL start with http://?".to_owned()
        }
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}
