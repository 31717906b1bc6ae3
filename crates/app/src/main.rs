//! `forecourt`: an open dealership-management server in one binary.
//!
//! This crate connects the parts. [`wiring`] chooses an adapter for each port, [`settings`] defines the settings of an
//! operator, [`commands`] has the commands of the command line, and [`background`] the background work of a server.

mod background;
mod backup;
mod cli;
mod commands;
mod counted_mailer;
mod demo;
mod doctor;
mod logging;
mod mail_kinds;
mod output;
mod progress;
mod report;
mod sample;
mod scratch;
mod service_manager;
mod settings;
mod shutdown;
mod system;
mod toml_text;
mod transaction;
mod wiring;

#[cfg(test)]
mod memory;

use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let (cli, options) = match cli::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(answer) => return cli::answer(&answer),
    };
    match commands::run(cli, options) {
        Ok(()) => ExitCode::SUCCESS,
        // The output's reader has closed it.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is_reported() {
                output::failure(&error, cli::wants_json());
            }
            ExitCode::from(error.exit_code())
        }
    }
}
