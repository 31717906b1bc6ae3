//! Which of a row's columns a change names.

/// Declares what is written of a record, `$values`, and what of that a change names, `$update`.
///
/// An update of SQLite rewrites the index of each column that it names, even where the value is the one that is stored. Most
/// changes are of one value, and a dozen indexes stand beside a record.
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
            /// What differs from what is stored; all of it where that is not known, and nothing where nothing does.
            pub(crate) fn changes(self, stored: Option<&Self>) -> Option<$update> {
                (stored != Some(&self)).then(|| $update {
                    $($field: stored.is_none_or(|stored| stored.$field != self.$field).then_some(self.$field),)+
                })
            }
        }
    };
}

pub(super) use values;
