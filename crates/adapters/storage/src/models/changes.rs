//! The choice of a row's columns for an update.

/// Declares the columns of a record that are written, `$values`, and the update that names only those that change, `$update`.
///
/// SQLite rewrites the index of each column that an update names, even if the value stays the same. Most changes are of one
/// value, and a record has a dozen indexes.
macro_rules! values {
    (
        $(#[$doc:meta])*
        pub(crate) struct $values:ident, $update:ident in $table:path {
            $($field:ident: $type:ty,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Insertable, Queryable, Selectable)]
        #[diesel(table_name = $table, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
        pub(crate) struct $values {
            $(pub(crate) $field: $type,)+
        }

        /// The columns that a change names.
        #[derive(Clone, Debug, AsChangeset)]
        #[diesel(table_name = $table)]
        pub(crate) struct $update {
            $($field: Option<$type>,)+
        }

        impl $values {
            /// Returns the columns that differ from the stored ones: all if those are not known, and `None` if none differs.
            pub(crate) fn changes(self, stored: Option<&Self>) -> Option<$update> {
                (stored != Some(&self)).then(|| $update {
                    $($field: stored.is_none_or(|stored| stored.$field != self.$field).then_some(self.$field),)+
                })
            }
        }
    };
}

pub(super) use values;
