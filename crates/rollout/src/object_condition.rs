//! The status of a product's object as people see it: conditions and status fields, in the product's own words.

/// A condition of a product's object, or a field of its status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ObjectCondition {
    /// Kind and name of the object, e.g. `Bundle/app`.
    pub object: String,
    /// The condition's type, or the field.
    pub condition: String,
    /// `True`, `False` or `Unknown`, or the field's value. Empty: the condition does not exist, or the field is empty.
    pub status: String,
    /// The product's reason, if it gives one.
    pub reason: String,
    /// The product's message, if it gives one.
    pub message: String,
}

impl ObjectCondition {
    /// Creates a condition.
    pub fn new(
        object: &str,
        condition: &str,
        status: &str,
        reason: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            object: object.to_owned(),
            condition: condition.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    /// Creates a field of the status.
    pub fn field(object: &str, field: &str, value: impl Into<String>) -> Self {
        Self {
            object: object.to_owned(),
            condition: field.to_owned(),
            status: value.into(),
            ..Self::default()
        }
    }

    /// Creates the entry for a condition that the object does not have or no longer has.
    pub fn absent(object: &str, condition: &str) -> Self {
        Self::new(object, condition, "", "", "")
    }
}
