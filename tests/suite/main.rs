//! Tests of the contract, sentence by sentence, against the running program.
//!
//! A module is a topic of the contract. Each begins with the list of its tests on both engines; a test that does not depend on
//! the engine is a plain one.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod accounts;
mod appointments;
mod authentication;
mod backups;
mod blog_fields;
mod blog_html;
mod blog_lists;
mod blog_publishing;
mod blog_slugs;
mod blogs;
mod bodies;
mod bounds;
mod business_file;
mod calls;
mod cells;
mod check_order;
mod clocks;
mod command_line;
mod compatibility;
mod compression;
mod conformance;
mod contact_notes_bounds;
mod contacts_finding;
mod contacts_login;
mod contacts_merging;
mod contacts_privacy;
mod contacts_record;
mod cors;
mod crash;
mod cursors;
mod database_faults;

mod demo;
mod doctor;
mod documents;
mod epochs;
mod erasure;
mod errors_help;
mod events;
mod faults;
mod fields;
mod former_names;
mod hostile;
mod hostile_neighbour;
mod http_edge;
mod idempotency;
mod invoices;
mod jobs;
mod keys;
mod lead_adf;
mod lead_ai;
mod lead_assign;
mod lead_conversation;
mod lead_create;
mod lead_filters;
mod lead_import;
mod lead_notify;
mod lead_references;
mod lead_status;
mod lead_update;
mod lead_vehicles;
mod listen;
mod listing_changes;
mod listing_feeds;
mod listings;
mod logging;
mod long_polls;
mod mail_quotas;
mod mail_texts;
mod metrics;
mod operations;
mod operations_guide;
mod outage;
mod outgoing;
mod pages;
mod papers;
mod people;
mod prove_history;
mod prove_power_loss;
mod ranges;
mod rate_limit;
mod reference;
mod reference_page;
mod registration_marks;
mod request_ids;
mod reviews;
mod sample;
mod secret_keys;
mod secrets;
mod servers;
mod service_manager;
mod settings;
mod shutdown;
mod slow_clients;
mod small_print;
mod streaming;
mod strict;
mod tenancy;
mod values;
mod vehicle_bounds;
mod vehicle_documents;
mod vehicle_drives;
mod vehicle_files;
mod vehicle_media;
mod vehicle_processes;
mod vehicle_rules;
mod vehicle_test_drives;
mod vehicles_lists;
mod vehicles_publishing;
mod vehicles_record;
mod versions;
mod webhook_bounds;
mod webhook_crashes;
mod webhook_deliveries;
mod webhook_snippets;
mod webhooks;
mod wildcards;
