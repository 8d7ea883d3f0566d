//! A user's own GPU profile: a JSON document with TraceLens's keys, and a few additional ones.
//! `docs/gpus.md` describes the keys.
//!
//! A rate is named by unit and precision, `matrix_bf16`; 0 means that the GPU does not have the mode. Name, bandwidth
//! and at least one rate are required. Everything else is optional. Unknown keys are ignored, except among the rates,
//! where they are typing errors.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Basis, Confidence, GpuSpec, Precision, Rates, Text, Unit};
use crate::base::file_error::FileError;

/// Maximum size of the document; a profile has a few hundred bytes.
pub const MAX_FILE_BYTES: usize = 1 << 16;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 100;
/// The allowed range of a figure, in its unit: from a thousandth of a TFLOPS or GB/s to an exaflop.
const RANGE: (f64, f64) = (1e-3, 1e6);
/// The maximum number of multiprocessors.
const MAX_SMS: u64 = 65_535;

const ACHIEVABLE: &str = "max_achievable_tflops";
const PEAK: &str = "peak_tflops";

/// Reads a user's profile.
pub fn parse(text: &str) -> Result<GpuSpec, FileError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.len() > MAX_FILE_BYTES {
        return Err(FileError::whole("too long for a GPU profile"));
    }
    let document: Value = serde_json::from_str(text).map_err(not_json)?;
    let Value::Object(keys) = &document else {
        let sentence = "a GPU profile is a JSON object, { … }";
        return Err(FileError::at(text, Some(0), sentence));
    };
    let file = Section {
        text,
        from: 0,
        keys,
    };
    let name = file.name()?;
    let source = match keys.get("source") {
        None | Some(Value::Null) => "a user's profile".to_owned(),
        Some(Value::String(source)) => one_line(source),
        Some(_) => return Err(file.wrong("source", "must be a text")),
    };
    let source: Text = Cow::Owned(source);
    let mut rates = file.rates(ACHIEVABLE, Basis::Achievable, &source)?;
    rates.extend(file.rates(PEAK, Basis::Peak, &source)?);
    if rates.is_empty() {
        return Err(FileError::whole(format!(
            "no rate above 0 in {ACHIEVABLE} or {PEAK}"
        )));
    }
    Ok(GpuSpec {
        id: Cow::Owned(name.clone()),
        name: Cow::Owned(name),
        vendor: None,
        patterns: &[],
        n_sms: file.n_sms()?,
        compute: None,
        memory_gb: file.figure("memory_gb", "GB")?,
        mem_bw_gbps: match file.figure("mem_bw_gbps", "GB/s")? {
            Some(bandwidth) => bandwidth,
            None => return Err(file.wrong("mem_bw_gbps", "is missing: the memory bandwidth, GB/s")),
        },
        mem_bw_basis: match keys.get("mem_bw_basis").map(Value::as_str) {
            None | Some(Some("peak")) => Basis::Peak,
            Some(Some("achievable")) => Basis::Achievable,
            Some(_) => {
                return Err(file.wrong("mem_bw_basis", "must be \"peak\" or \"achievable\""));
            }
        },
        link_gbps: file.figure("link_gbps", "GB/s")?,
        n_peers: None,
        source,
        confidence: Confidence::User,
        rates,
    })
}

/// An object of the document.
struct Section<'a> {
    text: &'a str,
    /// Its start offset, for finding the lines of its keys.
    from: usize,
    keys: &'a Map<String, Value>,
}

impl Section<'_> {
    /// Reads the rates of matrix and vector units.
    fn rates(&self, key: &str, basis: Basis, source: &Text) -> Result<Vec<Rates>, FileError> {
        let keys = match self.keys.get(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(keys)) => keys,
            Some(_) => return Err(self.wrong(key, "must be an object of rates, { … }")),
        };
        let section = Section {
            text: self.text,
            from: self.offset(key).unwrap_or(self.from),
            keys,
        };
        let mut all = [Unit::Matrix, Unit::Vector].map(|unit| Rates {
            unit,
            basis,
            tflops: Vec::new(),
            source: source.clone(),
            confidence: Confidence::User,
        });
        for name in keys.keys().filter(|name| !name.starts_with('_')) {
            let (unit, precision) = name.split_once('_').unwrap_or_default();
            let rates = all.iter_mut().find(|rates| rates.unit.label() == unit);
            let Some((rates, precision)) = rates.zip(Precision::of_key(precision)) else {
                return Err(section.unknown(name, key));
            };
            if let Some(tflops) = section.rate(name)? {
                rates.tflops.push((precision, tflops));
            }
        }
        let all = all.into_iter();
        Ok(all.filter(|rates| !rates.tflops.is_empty()).collect())
    }

    /// A rate; `None` for a mode that the GPU does not have.
    fn rate(&self, key: &str) -> Result<Option<f64>, FileError> {
        match self.keys.get(key).and_then(Value::as_f64) {
            Some(0.0) => Ok(None),
            _ => self.figure(key, "TFLOPS, or 0 for a mode that the GPU does not have"),
        }
    }

    /// Reads a figure within [`RANGE`]; `None` if it is not given.
    fn figure(&self, key: &str, unit: &str) -> Result<Option<f64>, FileError> {
        let (least, most) = RANGE;
        let value = match self.keys.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value.as_f64(),
        };
        let is_sane = |value: &f64| (least..=most).contains(value);
        match value.filter(is_sane) {
            Some(value) => Ok(Some(value)),
            None => {
                let expected = format!("must be a number from {least} to {most}, in {unit}");
                Err(self.wrong(key, &expected))
            }
        }
    }

    fn n_sms(&self) -> Result<Option<u32>, FileError> {
        let value = match self.keys.get("n_sms") {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value.as_u64(),
        };
        let n_sms = value.filter(|n_sms| (1..=MAX_SMS).contains(n_sms));
        match n_sms.and_then(|n_sms| u32::try_from(n_sms).ok()) {
            Some(n_sms) => Ok(Some(n_sms)),
            None => {
                let expected = format!("must be a whole number from 1 to {MAX_SMS}");
                Err(self.wrong("n_sms", &expected))
            }
        }
    }

    fn name(&self) -> Result<String, FileError> {
        let name = match self.keys.get("name") {
            None => return Err(self.wrong("name", "is missing: what to call the GPU")),
            Some(name) => name.as_str().map(one_line),
        };
        name.filter(|name| !name.is_empty() && name.chars().count() <= MAX_NAME)
            .ok_or_else(|| {
                let expected = format!("must be a text of 1 to {MAX_NAME} characters");
                self.wrong("name", &expected)
            })
    }

    fn unknown(&self, key: &str, section: &str) -> FileError {
        let expected = format!(
            "is no rate of {section}; one is matrix_ or vector_ and a precision: {}",
            Precision::keys()
        );
        self.wrong(key, &expected)
    }

    /// An error about a key, with its line.
    fn wrong(&self, key: &str, what: &str) -> FileError {
        let sentence = format!("{} {what}", one_line(key));
        FileError::at(self.text, self.offset(key), sentence)
    }

    /// The offset of a key of this object: quoted, and followed by a colon. Quotes inside a string are preceded by a
    /// backslash. A key written with escapes is not found.
    fn offset(&self, key: &str) -> Option<usize> {
        let quoted = format!("\"{key}\"");
        let rest = self.text.get(self.from..)?;
        let mut places = rest.match_indices(&quoted);
        let (offset, _) = places.find(|(offset, _)| {
            let after = rest.get(offset + quoted.len()..).unwrap_or_default();
            let is_inside = rest.get(..*offset).is_some_and(|rest| rest.ends_with('\\'));
            !is_inside && after.trim_start().starts_with(':')
        })?;
        Some(self.from + offset)
    }
}

/// The JSON parser's error without its location, which is added separately.
fn not_json(error: serde_json::Error) -> FileError {
    let said = error.to_string();
    let what = said.split(" at line ").next().unwrap_or_default();
    FileError {
        line: Some(error.line()),
        sentence: format!("not JSON: {what}"),
    }
}

/// A text as one line, trimmed.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{
  "name": "Mine",
  "mem_bw_gbps": 5300,
  "memory_gb": 192,
  "max_achievable_tflops": {
    "matrix_bf16": 708.5,
    "matrix_fp4": 0,
    "vector_fp32": 81,
    "_note": "kept out"
  },
  "peak_tflops": {
    "matrix_bf16": 1307
  },
  "mem_bw_basis": "achievable",
  "link_gbps": 896,
  "n_sms": 304,
  "source": "node 7",
  "gfx_arch": "gfx942"
}"#;

    #[test]
    fn the_documented_profile_is_read() {
        let page = include_str!("../../../docs/gpus.md");
        let example = page.split("```").nth(1).unwrap().trim_start_matches("json");
        let gpu = parse(example).unwrap();
        assert_eq!((gpu.n_sms, &*gpu.source), (Some(304), "measured on node 7"));
        assert_eq!((gpu.rates.len(), gpu.link_gbps), (3, Some(896.0)));
    }

    #[test]
    fn a_whole_profile() {
        let gpu = parse(WHOLE).unwrap();
        assert_eq!((&*gpu.name, &*gpu.id), ("Mine", "Mine"));
        assert_eq!((gpu.mem_bw_gbps, gpu.memory_gb), (5300.0, Some(192.0)));
        assert_eq!(gpu.mem_bw_basis, Basis::Achievable);
        assert_eq!((gpu.link_gbps, gpu.n_sms), (Some(896.0), Some(304)));
        let matrix = |precision, basis| gpu.matrix(precision, basis).map(|figure| figure.tflops);
        let achievable = Basis::Achievable;
        assert_eq!(matrix(Precision::Bf16, achievable), Some(708.5));
        assert_eq!(matrix(Precision::Bf16, Basis::Peak), Some(1307.0));
        assert_eq!(matrix(Precision::Fp4, achievable), None);
        let vector = gpu.vector_rate(Precision::Fp32, achievable).unwrap();
        assert_eq!((vector.tflops, &*vector.source), (81.0, "node 7"));
        assert_eq!(vector.confidence, Confidence::User);
        // Without a peak of the vector units, the achievable figure is used, and its basis says so.
        let stand_in = gpu.vector_rate(Precision::Fp32, Basis::Peak).unwrap();
        assert_eq!((stand_in.tflops, stand_in.basis), (81.0, achievable));
    }

    #[test]
    fn products_in_single_precision_have_a_key_of_their_own() {
        let gpu = parse(
            r#"{"name": "x", "mem_bw_gbps": 1, "max_achievable_tflops": {"matrix_fp32": 163}}"#,
        );
        let rate = gpu
            .unwrap()
            .matrix_rate(Precision::Fp32, Basis::Achievable)
            .map(|figure| figure.tflops);
        assert_eq!(rate, Some(163.0));
    }

    #[test]
    fn errors_name_the_key_and_the_line() {
        // Text, its replacement, and the error that results.
        let cases = r#"
            "name": "Mine" | "name": " " | line 2: name must be a text of 1 to 100 characters
            "name": "Mine", | | name is missing: what to call the GPU
            5300 | "fast" | line 3: mem_bw_gbps must be a number from 0.001 to 1000000, in GB/s
            5300 | -1 | line 3: mem_bw_gbps must be a number from 0.001 to 1000000, in GB/s
            "mem_bw_gbps": 5300, | | mem_bw_gbps is missing: the memory bandwidth, GB/s
            192 | 0 | line 4: memory_gb must be a number from 0.001 to 1000000, in GB
            708.5 | 1e300 | line 6: matrix_bf16 must be a number from 0.001 to 1000000, in TFLOPS, or 0 for a mode that the GPU does not have
            1307 | true | line 12: matrix_bf16 must be a number from 0.001 to 1000000, in TFLOPS, or 0 for a mode that the GPU does not have
            vector_fp32 | vektor_fp32 | line 8: vektor_fp32 is no rate of max_achievable_tflops; one is matrix_ or vector_ and a precision: fp64, fp32, tf32, fp16, bf16, fp8, fp6, fp4, int8
            matrix_fp4 | matrix_fp5 | line 7: matrix_fp5 is no rate of max_achievable_tflops; one is matrix_ or vector_ and a precision: fp64, fp32, tf32, fp16, bf16, fp8, fp6, fp4, int8
            "achievable" | "measured" | line 14: mem_bw_basis must be "peak" or "achievable"
            304 | 304.5 | line 16: n_sms must be a whole number from 1 to 65535
            "node 7" | [7] | line 17: source must be a text
            192, | 192 | line 5: not JSON: expected `,` or `}`
        "#;
        for case in cases.trim().lines() {
            let [from, to, expected] = case.splitn(3, '|').collect::<Vec<_>>()[..] else {
                panic!("{case}");
            };
            let text = WHOLE.replacen(from.trim(), to.trim(), 1);
            assert_ne!(text, WHOLE, "{case}");
            assert_eq!(parse(&text).unwrap_err().to_string(), expected.trim());
        }
        #[rustfmt::skip]
        let cases = [
            ("", "line 1: not JSON: EOF while parsing a value"),
            ("[]", "line 1: a GPU profile is a JSON object, { … }"),
            (r#"{"name": "x", "mem_bw_gbps": 1, "peak_tflops": {"matrix_bf16": 0}}"#, "no rate above 0 in max_achievable_tflops or peak_tflops"),
            (r#"{"name": "x", "mem_bw_gbps": 1, "peak_tflops": 7}"#, "line 1: peak_tflops must be an object of rates, { … }"),
            (&" ".repeat(MAX_FILE_BYTES + 1), "too long for a GPU profile"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_key_in_a_text_is_not_taken_for_one() {
        let text = "{\"source\": \"\\\"n_sms\\\": 1\",\n\"n_sms\": 0, \"name\": \"x\",\
                    \"mem_bw_gbps\": 1, \"peak_tflops\": {\"matrix_bf16\": 1}}";
        assert_eq!(parse(text).unwrap_err().line, Some(2));
    }
}
