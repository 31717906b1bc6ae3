//! The tables, once for both engines.

diesel::table! {
    /// What the database knows of itself: see [`crate::models::MetaRow`].
    forecourt_meta (key) {
        key -> Text,
        value -> Text,
    }
}
