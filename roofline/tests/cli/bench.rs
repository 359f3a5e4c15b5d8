//! `roofline bench` with measurements.

use crate::program::json;

#[test]
fn products_of_known_models_are_measured() {
    let found = json(&["bench", "--quick", "--only", "1B k_proj", "--quant", "q8_0,f32"]);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(row["gb_s"].as_f64().unwrap() > 0.0 && row["runs"].as_u64().unwrap() >= 7, "{row}");
        assert_eq!(
            (&row["rows"], &row["columns"], &row["bound"]),
            (&512.into(), &2048.into(), &"memory".into())
        );
    }
}

#[test]
fn custom_shapes_are_measured_in_every_format() {
    let found = json(&["bench", "--quick", "--shape", "64x256", "--quant", "q4_k,q6_k,iq4_xs,mxfp4,nvfp4"]);
    let rows = found["rows"].as_array().unwrap();
    let kernels: Vec<_> = rows.iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    assert_eq!(kernels, ["q4_k", "q6_k", "iq4_xs", "mxfp4", "nvfp4"]);
    for row in rows {
        assert_eq!(
            (&row["name"], &row["rows"], &row["columns"]),
            (&"64 x 256".into(), &64.into(), &256.into())
        );
        assert!(row["gb_s"].as_f64().unwrap() > 0.0, "{row}");
    }
}
