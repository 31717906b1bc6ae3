//! Row structs, once for both engines.

mod meta;

pub(crate) use meta::MetaRow;
