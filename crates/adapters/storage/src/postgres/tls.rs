//! How a connection is encrypted, as the address says.
//!
//! | `sslmode` | encrypted | the server's certificate |
//! | --- | --- | --- |
//! | `disable` | no | |
//! | `prefer` (default) | if the server offers it | not checked: who can forge it could as well not offer encryption |
//! | `require`, `verify-full` | yes, else no connection | checked against the public roots, or those in `sslrootcert` |
//!
//! `require` is stricter here than with libpq, where it accepts any certificate. A database with a certificate of its own
//! names the authority's file: `?sslmode=require&sslrootcert=/etc/forecourt/database-ca.pem`.

use std::path::PathBuf;
use std::sync::Arc;

use forecourt_kernel::BoxError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::OpenError;

/// What the address says about encryption.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Security {
    demand: Demand,
    /// The authorities to trust in place of the public ones.
    roots: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    Disable,
    Prefer,
    Verify,
}

/// Takes out of an address what the driver does not know.
pub(super) fn split(url: &str) -> Result<(String, Security), OpenError> {
    let mut security = Security {
        demand: Demand::Prefer,
        roots: None,
    };
    let Some((server, options)) = url.split_once('?') else {
        return Ok((url.to_owned(), security));
    };
    let mut rest = Vec::new();
    for option in options.split('&') {
        match option.split_once('=') {
            Some(("sslmode", mode)) => security.demand = demand(mode)?,
            Some(("sslrootcert", path)) => security.roots = Some(path.into()),
            _ => rest.push(option),
        }
    }
    Ok((format!("{server}?{}", rest.join("&")), security))
}

fn demand(mode: &str) -> Result<Demand, OpenError> {
    match mode {
        "disable" => Ok(Demand::Disable),
        "prefer" | "allow" => Ok(Demand::Prefer),
        "require" | "verify-ca" | "verify-full" => Ok(Demand::Verify),
        _ => Err(OpenError::PostgresUrl(
            "sslmode must be disable, prefer, require or verify-full".into(),
        )),
    }
}

impl Security {
    pub(super) fn mode(&self) -> SslMode {
        match self.demand {
            Demand::Disable => SslMode::Disable,
            Demand::Prefer => SslMode::Prefer,
            Demand::Verify => SslMode::Require,
        }
    }

    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, OpenError> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| OpenError::Tls(error.into()))?;
        let config = match self.demand {
            Demand::Verify => config.with_root_certificates(self.trusted().map_err(OpenError::Tls)?),
            Demand::Disable | Demand::Prefer => config
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
        };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }

    fn trusted(&self) -> Result<RootCertStore, BoxError> {
        let Some(path) = &self.roots else {
            return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(path)? {
            roots.add(certificate?)?;
        }
        if roots.is_empty() {
            Err("sslrootcert has no certificate".into())
        } else {
            Ok(roots)
        }
    }
}

/// Accepts any server, for `prefer`: encryption without identity is still more than none.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn security(url: &str) -> Security {
        split(url).unwrap().1
    }

    #[test]
    fn the_address_says_how_safe_it_must_be() {
        assert_eq!(security("postgres://host/db").mode(), SslMode::Prefer);
        assert_eq!(security("postgres://host/db?sslmode=disable").mode(), SslMode::Disable);
        assert_eq!(security("postgres://host/db?sslmode=require").mode(), SslMode::Require);
        assert_eq!(
            security("postgres://host/db?sslmode=verify-full").mode(),
            SslMode::Require
        );
        assert!(split("postgres://host/db?sslmode=maybe").is_err());
    }

    #[test]
    fn what_the_driver_knows_is_left_to_it() {
        let (url, security) =
            split("postgres://host/db?sslrootcert=/ca.pem&application_name=x&sslmode=require").unwrap();
        assert_eq!(url, "postgres://host/db?application_name=x");
        assert_eq!(security.roots, Some("/ca.pem".into()));
        assert!(url.parse::<tokio_postgres::Config>().is_ok());
        assert!(
            split("postgres://host/db?sslmode=require")
                .unwrap()
                .0
                .parse::<tokio_postgres::Config>()
                .is_ok()
        );
    }

    #[test]
    fn connectors_are_made_for_every_mode() {
        for mode in ["disable", "prefer", "require"] {
            assert!(
                security(&format!("postgres://host/db?sslmode={mode}"))
                    .connector()
                    .is_ok(),
                "{mode}"
            );
        }
        let missing = security("postgres://host/db?sslmode=require&sslrootcert=/nowhere.pem").connector();
        assert!(matches!(missing, Err(OpenError::Tls(_))));
    }
}
