//! The benchmark's large traces look like the profiler's.

#[path = "bench/tile.rs"]
mod tile;

fn tiled(text: &str, n: i64) -> String {
    let mut out = Vec::new();
    tile::tile(text, n, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_tile_is_later_and_has_other_ids() {
    let trace = r#"{"a": 1, "traceEvents": [
  {"ph": "M", "name": "process_name", "args": {"name": "id"}},
  {"ph": "X", "name": "\"ts\": 5", "ts": 10.250, "dur": 4.5, "args": {"External id": 1}},
  {"ph": "s", "id": 7, "ts": 12.000}
], "b": [2]}"#;
    // Starts are within 2, the longest event takes less than 5, the gap is 1000; ids go up to 7.
    let twice = r#"{"a": 1, "traceEvents": [
  {"ph": "M", "name": "process_name", "args": {"name": "id"}},
  {"ph": "X", "name": "\"ts\": 5", "ts": 10.250, "dur": 4.5, "args": {"External id": 1}},
  {"ph": "s", "id": 7, "ts": 12.000},
  {"ph": "X", "name": "\"ts\": 5", "ts": 1017.250, "dur": 4.5, "args": {"External id": 9}},
  {"ph": "s", "id": 15, "ts": 1019.000}
], "b": [2]}"#;
    assert_eq!(tiled(trace, 1), trace);
    assert_eq!(tiled(trace, 2), twice);
}

#[test]
fn no_id_stays_no_id() {
    let trace =
        r#"{"traceEvents": [{"ts": 1, "args": {"correlation": 0, "Python parent id": null}}]}"#;
    let second = r#"{"ts": 1002, "args": {"correlation": 0, "Python parent id": null}}]}"#;
    assert!(tiled(trace, 2).ends_with(second));
}
