//! The schema of results, as strict as it can be.

use serde_json::{Value, json};

/// Checks that a stored result fits `docs/result.schema.json`, and that it has no field that is not described there.
#[track_caller]
pub(crate) fn check_result(result: &Value) {
    let mut schema: Value =
        serde_json::from_str(include_str!("../../../../docs/result.schema.json")).expect("JSON");
    jsonschema::meta::validate(&schema).expect("a schema");
    forbid_other_fields(&mut schema);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<_> =
        validator.iter_errors(result).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{}\n{result:#}", errors.join("\n"));
}

fn forbid_other_fields(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(forbid_other_fields);
            if fields.get("type") == Some(&json!("object")) && fields.contains_key("properties") {
                fields.insert("additionalProperties".into(), json!(false));
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(forbid_other_fields),
        _ => {}
    }
}
