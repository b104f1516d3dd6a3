//! The certificate and key of listeners that other machines can reach.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_config::ServeTlsConfig;
use belay_fs::FileMode;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

use crate::token::is_private;

/// A certificate with its key.
#[derive(Clone, Debug)]
pub(crate) struct TlsIdentity {
    pub(crate) config: Arc<ServerConfig>,
    /// SHA-256 of the certificate, as browsers show it.
    pub(crate) fingerprint: String,
}

/// Why a certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsIdentityError {
    #[error("a certificate and its key belong together: set both serve.tls.cert and serve.tls.key")]
    Incomplete,
    #[error("cannot use the certificate in {}: {problem}", path.display())]
    Certificate { path: PathBuf, problem: String },
    #[error("cannot use the key in {}: {problem}", path.display())]
    Key { path: PathBuf, problem: String },
    #[error("cannot create a self-signed certificate: {0}")]
    SelfSigned(String),
}

impl TlsIdentity {
    /// Loads the configured certificate, or the self-signed one from `state_dir`, which is created once. `None` if neither
    /// is configured.
    pub(crate) fn load(
        config: &ServeTlsConfig,
        state_dir: &Path,
        address: SocketAddr,
    ) -> Result<Option<Self>, TlsIdentityError> {
        match (config.cert.as_str(), config.key.as_str()) {
            ("", "") if config.self_signed => {
                let (cert, key) = (state_dir.join("tls-cert.pem"), state_dir.join("tls-key.pem"));
                if !(is_private(&key) && cert.is_file()) {
                    create_self_signed(&cert, &key, address).map_err(TlsIdentityError::SelfSigned)?;
                }
                Self::from_files(&cert, &key).map(Some)
            }
            ("", "") => Ok(None),
            ("", _) | (_, "") => Err(TlsIdentityError::Incomplete),
            (cert, key) => Self::from_files(Path::new(cert), Path::new(key)).map(Some),
        }
    }

    fn from_files(cert: &Path, key: &Path) -> Result<Self, TlsIdentityError> {
        let certificate_error = |problem: String| TlsIdentityError::Certificate { path: cert.to_path_buf(), problem };
        let key_error = |problem: String| TlsIdentityError::Key { path: key.to_path_buf(), problem };
        let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| certificate_error(error.to_string()))?;
        let Some(leaf) = chain.first() else {
            return Err(certificate_error("it contains no certificate in PEM format".to_owned()));
        };
        let fingerprint = fingerprint(leaf);
        let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| key_error(error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private_key))
            .map_err(|error| key_error(error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), fingerprint })
    }
}

/// The name of this machine, for URLs and certificates.
pub(crate) fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_valid) { name } else { "localhost".to_owned() }
}

fn create_self_signed(cert: &Path, key: &Path, address: SocketAddr) -> Result<(), String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), host_name()];
    if !address.ip().is_unspecified() {
        names.push(address.ip().to_string());
    }
    names.sort_unstable();
    names.dedup();
    let problem = |error: rcgen::Error| error.to_string();
    let mut params = CertificateParams::new(names).map_err(problem)?;
    params.distinguished_name.push(DnType::CommonName, format!("Belay on {}", host_name()));
    let pair = KeyPair::generate().map_err(problem)?;
    let certificate = params.self_signed(&pair).map_err(problem)?;
    let write = |path: &Path, text: String| -> io::Result<()> {
        belay_fs::atomic_write(path, text.as_bytes(), FileMode::Private)
    };
    write(key, pair.serialize_pem()).and_then(|()| write(cert, certificate.pem())).map_err(|error| error.to_string())
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let bytes: Vec<String> = Sha256::digest(certificate).iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn self_signed() -> ServeTlsConfig {
        ServeTlsConfig { self_signed: true, ..ServeTlsConfig::default() }
    }

    fn everywhere() -> SocketAddr {
        ([0, 0, 0, 0], 8787).into()
    }

    #[test]
    fn a_self_signed_certificate_is_created_once() {
        let dir = tempfile::tempdir().unwrap();
        let load = || TlsIdentity::load(&self_signed(), dir.path(), everywhere()).unwrap().unwrap().fingerprint;
        let first = load();
        assert_eq!(first.len(), 32 * 3 - 1, "{first}");
        assert_eq!(load(), first);
        let mode = std::fs::metadata(dir.path().join("tls-key.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // A key that others could have read is replaced.
        std::fs::set_permissions(dir.path().join("tls-key.pem"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(load(), first);
    }

    #[test]
    fn problems_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let load = |cert: &str, key: &str| {
            let config = ServeTlsConfig { cert: cert.to_owned(), key: key.to_owned(), self_signed: false };
            TlsIdentity::load(&config, dir.path(), everywhere()).map(drop).map_err(|error| error.to_string())
        };
        assert!(TlsIdentity::load(&ServeTlsConfig::default(), dir.path(), everywhere()).unwrap().is_none());
        assert!(load(&path("cert"), "").unwrap_err().contains("belong together"));
        assert!(load(&path("cert"), &path("key")).unwrap_err().contains(&path("cert")));
        std::fs::write(path("cert"), "no PEM").unwrap();
        assert!(load(&path("cert"), &path("key")).unwrap_err().contains("no certificate"));
        TlsIdentity::load(&self_signed(), dir.path(), everywhere()).unwrap();
        assert!(load(&path("tls-cert.pem"), &path("key")).unwrap_err().contains(&path("key")));
        assert_eq!(load(&path("tls-cert.pem"), &path("tls-key.pem")), Ok(()));
    }
}
