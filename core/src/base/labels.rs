//! Enumerations with a text for each value.

/// An enumeration with the text of each value beside it: `Variant => "text"`. It has `label()`, and `ALL` in the order
/// of its rows, which is the order in tables.
macro_rules! labeled {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident => $label:literal as $key:literal,)+
        }
    ) => {
        labeled! {
            $(#[$meta])*
            $vis enum $name {
                $($(#[$doc])* $variant => $label,)+
            }
        }

        impl $name {
            /// Its name in files.
            $vis const fn key(self) -> &'static str {
                match self {
                    $($name::$variant => $key,)+
                }
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident => $label:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them, in the order of tables.
            #[allow(dead_code, reason = "not every enumeration is listed somewhere")]
            $vis const ALL: [$name; [$($label),+].len()] = [$($name::$variant),+];

            /// Its label for people.
            $vis fn label(self) -> &'static str {
                match self {
                    $($name::$variant => $label,)+
                }
            }
        }
    };
}

pub(crate) use labeled;
