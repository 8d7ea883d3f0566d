use super::*;
use dormer_core::hardware::Basis;
use dormer_core::names::Family;
use dormer_core::report::charts::{Ceiling, MemoryRoofline};

fn mark(row: u32, family: Family, percent: f64, spot: Spot) -> Mark {
    Mark {
        row,
        name: format!("op {row}"),
        shapes: String::new(),
        family,
        spot,
        percent,
        figures: Vec::new(),
        note: None,
    }
}

/// A roofline of 1 TB/s and 100 TFLOPS with its ridge point at 100, and three operations.
fn chart() -> RooflineChart {
    let on_roofline = |intensity, tflops_per_s| Spot::Roofline {
        intensity,
        tflops_per_s,
    };
    RooflineChart {
        memory: Some(MemoryRoofline {
            gbps: 1e3,
            basis: Basis::Peak,
        }),
        ceilings: vec![Ceiling {
            name: "matrix".into(),
            tflops: 100.0,
            basis: Basis::Peak,
            ridge: 100.0,
        }],
        marks: vec![
            mark(0, Family::Gemm, 64.0, on_roofline(100.0, 100.0)),
            mark(1, Family::Normalization, 16.0, on_roofline(1.0, 1.0)),
            mark(
                2,
                Family::MemoryCopy,
                0.01,
                Spot::Bandwidth { tb_per_s: 0.5 },
            ),
        ],
        ..RooflineChart::default()
    }
}

#[test]
fn area_is_time_and_what_reaches_the_roofline_is_on_it() {
    let drawing = Drawing::new(&chart(), &[], 1000.0);
    let places: Vec<MarkPlace> = drawing.places.iter().flatten().copied().collect();
    // A quarter of the time means half the radius.
    assert!((places[0].radius / places[1].radius - 2.0).abs() < 1e-9);
    assert!((places[2].radius - LEAST_RADIUS).abs() < 1e-9);
    // Both are on the roofline: one at the ridge point, one on the slope.
    let ridge = format!("{:.1} {:.1}", places[0].x, places[0].y);
    assert!(
        drawing.roofline[0].ends_with(&ridge),
        "{:?}",
        drawing.roofline
    );
    assert!(drawing.roofline[1].starts_with(&format!("M{ridge}")));
    let slope = format!("M{:.1} {:.1}", places[1].x, places[1].y);
    assert!(
        drawing.roofline[0].starts_with(&slope),
        "{:?}",
        drawing.roofline
    );
    assert!(places[2].y > drawing.floor);
}

#[test]
fn what_is_short_and_far_out_stands_at_the_edge() {
    let mut chart = chart();
    chart.marks.push(mark(
        3,
        Family::Normalization,
        0.005,
        Spot::Roofline {
            intensity: 1.0,
            tflops_per_s: 1e-9,
        },
    ));
    let drawing = Drawing::new(&chart, &[], 1000.0);
    let place = drawing.places[3].unwrap();
    assert!((place.y - drawing.floor).abs() < 1e-9);
    let is_noted = |drawing: &Drawing| drawing.texts.iter().any(|text| text.text.contains("edge"));
    assert!(is_noted(&drawing));
    assert!(!is_noted(&Drawing::new(
        &chart,
        &["gemm".to_owned()],
        1000.0
    )));
    // The same operation with some time has a mark.
    chart.marks.swap(0, 3);
    chart.marks[0].percent = 64.0;
    let near = Spot::Roofline {
        intensity: 1.0,
        tflops_per_s: 0.01,
    };
    chart.marks[0].spot = near;
    let drawing = Drawing::new(&chart, &[], 1000.0);
    assert!(drawing.places[0].unwrap().y <= drawing.floor + 1e-9);
    assert!(!is_noted(&drawing));
}

#[test]
fn the_name_of_a_ceiling_hides_no_mark() {
    let mut chart = chart();
    let name_y = |chart: &RooflineChart| {
        let drawing = Drawing::new(chart, &[], 1000.0);
        let name = drawing
            .texts
            .iter()
            .find(|text| text.text.contains("matrix"));
        name.unwrap().y
    };
    let above = name_y(&chart);
    // An operation in whose place the name would be.
    chart.marks[0].spot = Spot::Roofline {
        intensity: 800.0,
        tflops_per_s: 120.0,
    };
    assert!(name_y(&chart) > above + LINE);
}

/// One operation takes most of the time and has almost no FLOPs, such as a long kernel with one thread.
#[test]
fn no_operation_stretches_the_axes_to_nothing() {
    let mut chart = chart();
    let next_to_nothing = Spot::Roofline {
        intensity: 1e-7,
        tflops_per_s: 1e-9,
    };
    chart
        .marks
        .insert(0, mark(3, Family::Other, 90.0, next_to_nothing));
    let drawing = Drawing::new(&chart, &[], 1000.0);
    let place = drawing.places[0].unwrap();
    assert!((place.y - drawing.floor).abs() < 1e-9 && (place.x - LEFT).abs() < 1e-9);
    // The others have most of the height to themselves.
    let product = drawing.places[1].unwrap();
    assert!(product.y < TOP + 0.3 * (drawing.floor - TOP));
    // If it is filtered out, they have all of it.
    let gemms = Drawing::new(&chart, &["norm".to_owned()], 1000.0);
    let norm = |drawing: &Drawing| drawing.places[2].unwrap();
    assert!(norm(&gemms).y > norm(&drawing).y + 50.0);
}

#[test]
fn the_pointer_finds_the_nearest_mark() {
    let drawing = Drawing::new(&chart(), &[], 1000.0);
    let first = drawing.places[0].unwrap();
    assert_eq!(drawing.nearest(first.x + 3.0, first.y), Some(0));
    assert_eq!(drawing.nearest(first.x + 200.0, first.y), None);
    let filtered = Drawing::new(&chart(), &["norm".to_owned()], 1000.0);
    assert_eq!(filtered.nearest(first.x, first.y), None);
}

#[test]
fn nothing_is_drawn_without_a_roofline_or_a_width() {
    assert_eq!(
        Drawing::new(&RooflineChart::default(), &[], 900.0),
        Drawing::default()
    );
    assert_eq!(Drawing::new(&chart(), &[], 0.0), Drawing::default());
}
