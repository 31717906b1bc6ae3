//! The encryption of a connection, as the address says. The modes are libpq's.
//!
//! | `sslmode` | encrypted | the server's certificate |
//! | --- | --- | --- |
//! | `disable` | no | |
//! | `allow`, `prefer` (default) | if the server offers it | not checked |
//! | `require` | yes, else no connection | not checked, unless there is an `sslrootcert`: then as `verify-ca` |
//! | `verify-ca` | yes | is signed by one of the public authorities, or of those in `sslrootcert` |
//! | `verify-full` | yes | that, and it is the host's |
//!
//! A mode that does not check the certificate gives no protection from an attacker in between. A database with a certificate of
//! its own names the authority's file: `?sslmode=verify-full&sslrootcert=/etc/forecourt/database-ca.pem`.

use std::path::PathBuf;
use std::sync::Arc;

use forecourt_kernel::BoxError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::OpenError;

/// The address's settings of encryption.
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
    Require,
    VerifyAuthority,
    VerifyFull,
}

/// Takes the parameters out of an address that the driver does not know.
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
        "require" => Ok(Demand::Require),
        "verify-ca" => Ok(Demand::VerifyAuthority),
        "verify-full" => Ok(Demand::VerifyFull),
        _ => Err(OpenError::PostgresUrl(
            "sslmode must be disable, allow, prefer, require, verify-ca or verify-full".into(),
        )),
    }
}

impl Security {
    pub(super) fn mode(&self) -> SslMode {
        match self.demand {
            Demand::Disable => SslMode::Disable,
            Demand::Prefer => SslMode::Prefer,
            Demand::Require | Demand::VerifyAuthority | Demand::VerifyFull => SslMode::Require,
        }
    }

    /// Returns `true` if no other machine can stand in for the host.
    pub(super) fn verifies_host(&self) -> bool {
        self.demand == Demand::VerifyFull
    }

    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, OpenError> {
        let provider = Arc::new(ring::default_provider());
        let config = forecourt_net::tls_builder().map_err(|error| OpenError::Tls(error.into()))?;
        let config = match (self.demand, &self.roots) {
            (Demand::VerifyFull, _) => config.with_root_certificates(self.trusted().map_err(OpenError::Tls)?),
            (Demand::VerifyAuthority, _) | (Demand::Require, Some(_)) => {
                let roots = Arc::new(self.trusted().map_err(OpenError::Tls)?);
                let inner = WebPkiServerVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| OpenError::Tls(error.into()))?;
                config
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(AnyName(inner)))
            }
            (Demand::Disable | Demand::Prefer | Demand::Require, _) => config
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
        };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }

    fn trusted(&self) -> Result<RootCertStore, BoxError> {
        let Some(path) = &self.roots else {
            return Ok(forecourt_net::public_roots());
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

/// Accepts any host's certificate that a trusted authority has signed, for `verify-ca`.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self
            .0
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is checked last.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Accepts any server, for `prefer` and `require`: encryption without identity is still more than none.
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
        for (mode, demanded) in [
            ("disable", SslMode::Disable),
            ("allow", SslMode::Prefer),
            ("prefer", SslMode::Prefer),
            ("require", SslMode::Require),
            ("verify-ca", SslMode::Require),
            ("verify-full", SslMode::Require),
        ] {
            let security = security(&format!("postgres://host/db?sslmode={mode}"));
            assert_eq!(security.mode(), demanded, "{mode}");
            assert_eq!(security.verifies_host(), mode == "verify-full", "{mode}");
        }
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
        for mode in ["disable", "prefer", "require", "verify-ca", "verify-full"] {
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
