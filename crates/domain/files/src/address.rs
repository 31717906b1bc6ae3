//! Where public files are read.

use std::sync::Arc;

use forecourt_kernel::BusinessId;

use crate::FileName;

/// The addresses of public files: `<base>/files/<business>/<name>`, where the base is the server's public URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileAddresses {
    base: Arc<str>,
}

impl FileAddresses {
    /// The addresses below a server's public URL.
    pub fn new(public_url: &str) -> Self {
        let base = public_url.trim_end_matches('/').into();
        Self { base }
    }

    /// The address of a file of that business.
    pub fn of(&self, business: BusinessId, name: &FileName) -> String {
        format!("{}/files/{business}/{name}", self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_the_business_and_the_file() {
        let name: FileName = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf-320.webp".parse().unwrap();
        for base in ["https://api.example/dealer", "https://api.example/dealer/"] {
            let address = FileAddresses::new(base).of(BusinessId::new(7), &name);
            assert_eq!(
                address,
                "https://api.example/dealer/files/7/a0a1a2a3a4a5a6a7a8a9aaabacadaeaf-320.webp"
            );
        }
    }
}
