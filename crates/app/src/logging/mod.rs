//! Log lines on standard error, cheap enough to be written at every request.

mod buffer;

use std::{
    io::{self, IsTerminal},
    panic::PanicHookInfo,
    sync::Arc,
};

use tracing_subscriber::{EnvFilter, fmt::SubscriberBuilder, util::SubscriberInitExt};

use crate::settings::{LogFormat, Settings};
use buffer::{Flusher, LineBuffer, LineWriter};

/// Writes log lines in the background. Dropping it writes those that still wait.
pub(crate) struct Logging {
    _flusher: Flusher,
}

/// Log lines cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoggingError {
    /// There is no thread to write them.
    #[error("no thread can be started for the log")]
    Thread(#[source] io::Error),
    /// Another logger is installed in this process already.
    #[error("the log cannot be set up")]
    Taken(#[source] tracing_subscriber::util::TryInitError),
}

/// Starts to write log lines: those that the settings select, or else those that `default_filter` does.
///
/// # Errors
/// [`LoggingError`], on a second call for one.
pub(crate) fn start(settings: &Settings, default_filter: &str) -> Result<Logging, LoggingError> {
    let filter = settings.log.clone().unwrap_or_else(|| EnvFilter::new(default_filter));
    let buffer = Arc::new(LineBuffer::new(io::stderr()));
    let flusher = Flusher::start(Arc::clone(&buffer)).map_err(LoggingError::Thread)?;

    let subscriber = SubscriberBuilder::default()
        .with_env_filter(filter)
        .with_writer(LineWriter(Arc::clone(&buffer)))
        .with_ansi(io::stderr().is_terminal());
    match settings.log_format {
        LogFormat::Text => subscriber.finish().try_init(),
        LogFormat::Json => subscriber
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .finish()
            .try_init(),
    }
    .map_err(LoggingError::Taken)?;

    std::panic::set_hook(Box::new(log_panic));
    Ok(Logging { _flusher: flusher })
}

/// Logs a panic like any other failure, so that log collectors get it too; as an error, it is written at once.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let backtrace = std::backtrace::Backtrace::capture();
    match backtrace.status() {
        std::backtrace::BacktraceStatus::Captured => tracing::error!(%place, %backtrace, "panic: {message}"),
        _ => tracing::error!(%place, "panic: {message}"),
    }
}
