//! The programs that are measured.

use std::fs;
use std::path::PathBuf;

use crate::error::{Context as _, Result};
use crate::workspace::Workspace;

/// The programs as they are shipped.
pub(super) struct Programs {
    pub(super) forecourt: PathBuf,
    pub(super) bare: PathBuf,
}

impl Programs {
    pub(super) fn build(workspace: &Workspace) -> Result<Self> {
        let [forecourt, bare] = workspace.build_dist(["forecourt", "forecourt-bare"])?;
        Ok(Self { forecourt, bare })
    }

    /// How many bytes the program has.
    pub(super) fn size(&self) -> Result<u64> {
        let file = fs::metadata(&self.forecourt).context(|| format!("{} is gone", self.forecourt.display()))?;
        Ok(file.len())
    }
}
