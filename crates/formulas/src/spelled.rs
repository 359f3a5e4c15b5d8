//! Declares the words of enum variants for JSON, schemas and text in one place.

/// Implements `name`, `Display`, `Serialize`, `Deserialize` and `JsonSchema` for an enum from one word per variant. Words after `|`
/// are accepted in documents of older versions.
#[macro_export]
macro_rules! spelled {
    ($word:ident { $($case:ident = $name:literal $(| $old:literal)*,)* }) => {
        impl $word {
            /// All variants in declaration order.
            pub const ALL: &'static [$word] = &[$($word::$case),*];

            /// Returns the word of the variant.
            pub fn name(self) -> &'static str {
                match self {
                    $($word::$case => $name,)*
                }
            }
        }

        impl std::fmt::Display for $word {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl serde::Serialize for $word {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $word {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let found = <String as serde::Deserialize>::deserialize(deserializer)?;
                match found.as_str() {
                    $($name $(| $old)* => Ok($word::$case),)*
                    _ => Err(serde::de::Error::unknown_variant(&found, &[$($name),*])),
                }
            }
        }

        impl schemars::JsonSchema for $word {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($word).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "enum": [$($name),*]})
            }
        }
    };
}
