//! The starting point of most tests.

use serde_json::{Value, json};

use crate::client::Client;
use crate::database::Engine;
use crate::installation::{Business, Installation};
use crate::server::{Serve, Server};
use crate::template;

/// A server with one business and a client with every scope.
#[derive(Debug)]
pub struct Shop {
    /// The server.
    pub server: Server,
    /// The business.
    pub business: Business,
    /// A client of the business with every scope.
    pub api: Client,
}

impl Shop {
    /// Opens one with the usual settings.
    pub async fn open(engine: Engine) -> Self {
        Self::open_with(engine, |serve| serve).await
    }

    /// Opens one whose server is configured further.
    pub async fn open_with(engine: Engine, setup: impl FnOnce(Serve) -> Serve) -> Self {
        let (business, key) = template::installation(engine).await;
        let server = setup(business.installation.serve()).start().await;
        let api = server.client(&key.token);
        Self { server, business, api }
    }

    /// Opens one on a running server.
    pub async fn on(server: Server) -> Self {
        let business = server.installation().business(&acme()).await;
        let api = server.client(&business.key("all").await.token);
        Self { server, business, api }
    }

    /// Returns the installation on which it runs.
    pub fn installation(&self) -> &Installation {
        self.server.installation()
    }

    /// Returns a client of the business with these scopes.
    pub async fn client(&self, scopes: &str) -> Client {
        self.server.client(&self.business.key(scopes).await.token)
    }

    /// Returns a client, with every scope, of another business.
    pub async fn rival(&self) -> Client {
        let rival = json!({"tag": "rival", "name": "Rival Motors", "email": "office@rival.example"});
        let business = self.installation().business(&rival).await;
        self.server.client(&business.key("all").await.token)
    }

    /// Creates a lead from this body.
    pub async fn lead(&self, body: &Value) -> Value {
        self.api.post("/2.0/leads", body).await.created()
    }

    /// Creates a lead with this name; returns the path to it.
    pub async fn lead_path(&self, name: &str) -> String {
        let lead = self.lead(&json!({"name": name})).await;
        format!("/2.0/leads/{}", lead["id"])
    }
}

/// Returns the file of a business that uses every section.
pub fn acme() -> Value {
    json!({
        "tag": "acme",
        "name": "Acme Cars",
        "email": "office@acme.example",
        "country": "GB",
        "website": "https://acme.example",
        "sites": [
            {"id": 0, "name": "Main", "tag": "main", "domain": "acme.example", "type": "main", "active": true},
            {"id": 2, "name": "Vans", "tag": "vans", "domain": "vans.acme.example", "type": "branch", "active": true},
            {"id": 3, "name": "Closed", "tag": "closed", "domain": "old.acme.example", "type": "branch", "active": false},
        ],
        "locations": [{"id": "1", "name": "Front"}],
        "staff": [
            {"id": 1, "name": "Sam Hill", "role": ["sales"], "email": "sam@acme.example"},
            {"id": 2, "name": "Ada Byrne", "role": ["sales", "manager"], "email": "ada@acme.example"},
        ],
        "tags": [
            {"resource": "lead", "name": "Hot", "colour": "#d33", "type": "", "defaulted": false},
            {"resource": "lead", "name": "Cold", "colour": "#33d", "type": "", "defaulted": false},
            {"resource": "contact", "name": "Trade", "colour": "#dd3", "type": "", "defaulted": false},
            {"resource": "vehicle", "type": "s", "name": "Ready", "colour": "#3a3", "defaulted": true},
            {"resource": "vehicle", "type": "u", "name": "Service", "colour": "#3aa", "defaulted": false},
        ],
        "channels": [
            {"id": "website", "name": "Website", "category": "website"},
            {"id": "platform_a", "name": "Platform A", "category": "marketplace"},
        ],
        "booking_types": [
            {"id": "viewing", "name": "Viewing", "enabled": true, "calendar": "sales", "duration_minutes": 30},
        ],
        "media_backgrounds": [{"id": "own", "name": "Our hall", "key": "hall"}],
        "job_boards": [
            // Neither is applied automatically: a test of something else finds no events of jobs.
            {"id": 1, "tag": "prep", "name": "Preparation", "description": "Before sale", "apply": [],
             "stages": [{"name": "Mechanics", "tasks": ["MOT", "Service"]}]},
            {"id": 2, "tag": "extra", "name": "Extra work", "description": "", "apply": [], "stages": []},
        ],
        "vehicle_options": {"colour": ["Nardo Grey"]},
    })
}
