//! Settings whose defaults depend on something else, such as a product or another setting.

/// Defines a struct of settings, and beside it one that holds only those that a file sets. `over` puts the latter over
/// defaults that are known later.
macro_rules! overridable {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, overridden by $overrides:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        #[doc = concat!("Settings of [`", stringify!($name), "`] that a file sets; `None` leaves the default.")]
        #[derive(Clone, Copy, Debug, Default, serde::Deserialize, schemars::JsonSchema, PartialEq)]
        #[serde(deny_unknown_fields, rename_all = "camelCase", default)]
        pub struct $overrides {
            $($(#[$field_meta])* pub $field: Option<$type>,)*
        }

        impl $overrides {
            /// `default` with what is set here.
            #[must_use]
            pub fn over(self, default: $name) -> $name {
                $name { $($field: self.$field.unwrap_or(default.$field),)* }
            }
        }
    };
}

pub(crate) use overridable;
