//! How each engine writes a batch: one row per grammar.

use super::{Batch, Engine, Images, Phase, Sums, Tier};
use crate::base::format;
use crate::names::words::leading_digits;

/// A format of an engine's annotations.
struct Grammar {
    engine: Engine,
    form: Form,
}

enum Form {
    /// Text with a decimal number for each name in braces, with no text after it.
    Numbers(&'static str),
    /// Words between the opening text and a closing bracket, some of them known.
    Words {
        open: &'static str,
        read: fn(&mut Batch, &Words),
        known: &'static [&'static str],
    },
}

/// The first matching row applies.
#[rustfmt::skip]
const GRAMMARS: &[Grammar] = &[
    Grammar { engine: Engine::Vllm, form: Form::Numbers("execute_{tokens}_context_{c}(sq{c_sq}sk{c_sk}sqsq{c_sqsq}sqsk{c_sqsk})_generation_{g}(sq{g_sq}sk{g_sk}sqsq{g_sqsq}sqsk{g_sqsk})") },
    Grammar { engine: Engine::Vllm, form: Form::Numbers("execute_context_{c}({c_sq})_generation_{g}({g_sq})") },
    Grammar { engine: Engine::Vllm, form: Form::Numbers("execute_context_{c}({c_sq}_{c_sqsq})_generation_{g}({g_sq})") },
    Grammar { engine: Engine::Vllm, form: Form::Numbers("execute_new_{c}_cached_{g}") },
    Grammar { engine: Engine::Sglang, form: Form::Words { open: "step[", read: sglang, known: SGLANG } },
    Grammar { engine: Engine::Atom, form: Form::Words { open: "prefill[", read: atom_prefill, known: ATOM } },
    Grammar { engine: Engine::Atom, form: Form::Words { open: "decode[", read: atom_decode, known: ATOM } },
    Grammar { engine: Engine::Xdit, form: Form::Numbers("execute_diffusion_{images}_{height}x{width}") },
    Grammar { engine: Engine::Xdit, form: Form::Numbers("model_inference") },
];

#[rustfmt::skip]
const SGLANG: &[&str] = &[
    "bs", "toks", "c", "g", "c_sq", "c_sk", "c_sqsq", "c_sqsk", "g_sq", "g_sk", "g_sqsq", "g_sqsk",
];

const ATOM: &[&str] = &["bs", "tok", "p", "d", "spec", "tbo", "sqsq", "sqsk", "sk"];

/// A mode of an SGLang step.
struct Mode {
    name: &'static str,
    phase: Phase,
    /// Whether its sums belong to context; `None` if to both.
    is_context: Option<bool>,
    is_speculative: bool,
}

const fn mode(name: &'static str, phase: Phase, is_context: Option<bool>) -> Mode {
    Mode {
        name,
        phase,
        is_context,
        is_speculative: false,
    }
}

const fn speculative(name: &'static str, phase: Phase) -> Mode {
    Mode {
        is_speculative: true,
        ..mode(name, phase, Some(true))
    }
}

const MODES: &[Mode] = &[
    mode("EXTEND", Phase::Prefill, Some(true)),
    mode("DECODE", Phase::Decode, Some(false)),
    mode("MIXED", Phase::Mixed, None),
    mode("IDLE", Phase::Idle, None),
    speculative("TARGET_VERIFY", Phase::Decode),
    speculative("DRAFT_EXTEND", Phase::Draft),
    speculative("DRAFT_EXTEND_V2", Phase::Draft),
    mode("SPLIT_PREFILL", Phase::Prefill, Some(true)),
    mode("DLLM_EXTEND", Phase::Prefill, Some(true)),
    // Requests whose prefill ran elsewhere: nothing is computed.
    mode("PREBUILT", Phase::Idle, None),
];

/// Parses the batch from an annotation's name; `None` for any other annotation.
pub fn parse(name: &str) -> Option<Batch> {
    GRAMMARS.iter().find_map(|grammar| grammar.read(name))
}

/// A batch annotation reduced to the known words and numbers of its grammar; `None` for any other annotation.
pub(crate) fn without_own_words(name: &str) -> Option<String> {
    let grammar = GRAMMARS.iter().find(|one| one.read(name).is_some())?;
    let Form::Words { open, known, .. } = grammar.form else {
        return Some(name.to_owned());
    };
    let words = Words::of(name.strip_prefix(open)?);
    let is_known = |word: &&str| match word.split_once('=') {
        Some((key, value)) => {
            let mut numbers = value.split('/');
            known.contains(&key) && numbers.all(|number| number.parse::<u64>().is_ok())
        }
        None => MODES.iter().any(|mode| mode.name == *word),
    };
    let kept = format::joined(words.0.split_whitespace().filter(is_known), " ");
    Some(format!("{open}{kept}]"))
}

impl Grammar {
    fn read(&self, name: &str) -> Option<Batch> {
        let mut batch = Batch {
            engine: self.engine,
            tier: Tier::Plain,
            phase: Phase::Mixed,
            context: Sums::default(),
            generation: Sums::default(),
            both: Sums::default(),
            padded_to: None,
            images: None,
            is_speculative: false,
        };
        let is_detailed = match &self.form {
            Form::Numbers(pattern) => {
                numbers(pattern, name, &mut batch)?;
                pattern.contains("sqsk")
            }
            Form::Words { open, read, .. } => {
                let words = Words::of(name.strip_prefix(open)?);
                read(&mut batch, &words);
                let sums = ["sqsq", "c_sqsq", "g_sqsq"];
                sums.iter().any(|sum| words.number(sum).is_some())
            }
        };
        if is_detailed {
            batch.tier = Tier::Detailed;
        }
        Some(batch)
    }
}

/// Reads the numbers from a name that matches a pattern.
fn numbers(pattern: &str, name: &str, batch: &mut Batch) -> Option<()> {
    let mut rest = name;
    let mut parts = pattern.split('{');
    rest = rest.strip_prefix(parts.next()?)?;
    let mut images = Images {
        batch: 0,
        height: 0,
        width: 0,
    };
    for part in parts {
        let (field, literal) = part.split_once('}')?;
        let digits = leading_digits(rest);
        let number: u64 = digits.parse().ok()?;
        rest = rest.strip_prefix(digits)?.strip_prefix(literal)?;
        match field {
            "tokens" => batch.both.sq = Some(number),
            "images" => images.batch = number,
            "height" => images.height = number,
            "width" => images.width = number,
            _ => *sum_of(batch, field)? = Some(number),
        }
    }
    if !rest.is_empty() {
        return None;
    }
    batch.images = (images.batch > 0).then_some(images);
    batch.phase = match batch.engine {
        Engine::Xdit => Phase::Diffusion,
        _ => phase_of(&batch.context, &batch.generation),
    };
    Some(())
}

/// The sum with this name: `c` and `g` for requests, `c_sq` and the like.
fn sum_of<'a>(batch: &'a mut Batch, field: &str) -> Option<&'a mut Option<u64>> {
    let (of, sum) = field.split_once('_').unwrap_or((field, ""));
    let sums = match of {
        "c" => &mut batch.context,
        "g" => &mut batch.generation,
        _ => return None,
    };
    Some(match sum {
        "" => &mut sums.requests,
        "sq" => &mut sums.sq,
        "sk" => &mut sums.sk,
        "sqsq" => &mut sums.sqsq,
        "sqsk" => &mut sums.sqsk,
        _ => return None,
    })
}

fn phase_of(context: &Sums, generation: &Sums) -> Phase {
    let has = |sums: &Sums| sums.requests.or(sums.sq).is_some_and(|n| n > 0);
    match (has(context), has(generation)) {
        (true, false) => Phase::Prefill,
        (false, true) => Phase::Decode,
        (true, true) => Phase::Mixed,
        (false, false) => Phase::Idle,
    }
}

/// `bs=3 toks=9 …`, up to a closing bracket.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn of(after_open: &'a str) -> Words<'a> {
        let end = after_open.rfind(']').unwrap_or(after_open.len());
        Words(after_open.get(..end).unwrap_or_default())
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        let mut words = self.0.split_whitespace();
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.value(key)?.parse().ok()
    }
}

/// `step[MIXED bs=3 toks=9 c=2 g=1 c_sq=8 …]`
fn sglang(batch: &mut Batch, words: &Words) {
    let name = words.0.split_whitespace().next();
    let mode = MODES.iter().find(|mode| Some(mode.name) == name);
    for key in SGLANG {
        if let Some(number) = words.number(key)
            && let Some(sum) = sum_of(batch, key)
        {
            *sum = Some(number);
        }
    }
    let (requests, tokens) = (words.number("bs"), words.number("toks"));
    batch.is_speculative = mode.is_some_and(|mode| mode.is_speculative);
    batch.phase = mode.map_or(Phase::Mixed, |mode| mode.phase);
    let is_read = batch.context != Sums::default() || batch.generation != Sums::default();
    match mode.and_then(|mode| mode.is_context) {
        // Unknown mode: derive the phase from the sums.
        None if mode.is_none() && is_read => {
            batch.phase = phase_of(&batch.context, &batch.generation)
        }
        None => {}
        Some(is_context) => {
            let (own, other) = match is_context {
                true => (&mut batch.context, &mut batch.generation),
                false => (&mut batch.generation, &mut batch.context),
            };
            own.requests = own.requests.or(requests);
            own.sq = own.sq.or(tokens);
            // Without speculative decoding each request generates one token.
            if !is_context {
                own.sq = own.sq.or(requests);
            }
            *other = Sums::NONE;
        }
    }
    batch.both.requests = requests;
    batch.both.sq = match batch.phase {
        Phase::Idle => Some(0),
        _ => tokens,
    };
}

/// `prefill[bs=2 tok=1024 ctx=[512, 512] …]`
fn atom_prefill(batch: &mut Batch, words: &Words) {
    batch.phase = Phase::Prefill;
    batch.context = atom_sums(batch, words);
    batch.generation = Sums::NONE;
}

/// `decode[bs=117/128 tok=117 p=1 d=116 spec=1]`: one of 117 requests, padded to 128, is in prefill.
fn atom_decode(batch: &mut Batch, words: &Words) {
    let all = atom_sums(batch, words);
    batch.is_speculative = words.number("spec").is_some_and(|drafted| drafted > 0);
    match words.number("p").filter(|prefills| *prefills > 0) {
        Some(prefills) => {
            batch.phase = Phase::Mixed;
            batch.context.requests = Some(prefills);
            batch.generation.requests = words.number("d");
            batch.both = all;
        }
        None => {
            batch.phase = Phase::Decode;
            batch.generation = all;
            batch.context = Sums::NONE;
        }
    }
}

fn atom_sums(batch: &mut Batch, words: &Words) -> Sums {
    let size = words.value("bs").unwrap_or_default();
    let (real, padded) = size.split_once('/').unwrap_or((size, ""));
    let real = real.parse().ok();
    batch.padded_to = padded.parse().ok().filter(|padded| Some(*padded) > real);
    Sums {
        requests: real,
        sq: words.number("tok"),
        sk: words.number("sk"),
        sqsq: words.number("sqsq"),
        sqsk: words.number("sqsk"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Engine, tier, phase, requests, tokens and KV tokens of an annotation.
    type Read = (Engine, Tier, Phase, [Option<u64>; 3]);

    #[test]
    fn every_grammar_is_read() {
        use Engine::*;
        use Phase::*;
        use Tier::*;
        #[rustfmt::skip]
        let cases: &[(&str, Option<Read>)] = &[
            ("execute_14_context_2(sq12sk20sqsq80sqsk144)_generation_2(sq2sk30sqsq2sqsk30)", Some((Vllm, Detailed, Mixed, [Some(4), Some(14), Some(50)]))),
            ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", Some((Vllm, Detailed, Decode, [Some(32), Some(32), Some(55086)]))),
            ("execute_context_1(888)_generation_2(2)", Some((Vllm, Plain, Mixed, [Some(3), Some(890), None]))),
            ("execute_context_1(888_788544)_generation_0(0)", Some((Vllm, Plain, Prefill, [Some(1), Some(888), None]))),
            ("execute_new_1_cached_31", Some((Vllm, Plain, Mixed, [Some(32), None, None]))),
            ("step[EXTEND bs=15 toks=15360]", Some((Sglang, Plain, Prefill, [Some(15), Some(15360), None]))),
            ("step[EXTEND bs=2 toks=12 c_sq=12 c_sk=20 c_sqsq=80 c_sqsk=144]", Some((Sglang, Detailed, Prefill, [Some(2), Some(12), Some(20)]))),
            ("step[DECODE bs=64]", Some((Sglang, Plain, Decode, [Some(64), Some(64), None]))),
            ("step[DECODE bs=2 g_sq=6 g_sk=30 g_sqsq=18 g_sqsk=90]", Some((Sglang, Detailed, Decode, [Some(2), Some(6), Some(30)]))),
            ("step[MIXED bs=3 toks=9 c=2 g=1 c_sq=8 c_sqsq=32 c_sqsk=40 c_sk=10 g_sq=1 g_sqsq=1 g_sqsk=9 g_sk=9]", Some((Sglang, Detailed, Mixed, [Some(3), Some(9), Some(19)]))),
            ("step[MIXED bs=3 toks=9]", Some((Sglang, Plain, Mixed, [Some(3), Some(9), None]))),
            ("step[IDLE bs=0]", Some((Sglang, Plain, Idle, [Some(0), Some(0), None]))),
            ("step[TARGET_VERIFY bs=4 c_sq=20 c_sk=99 c_sqsq=100 c_sqsk=495]", Some((Sglang, Detailed, Decode, [Some(4), Some(20), Some(99)]))),
            ("step[DRAFT_EXTEND bs=4 toks=8]", Some((Sglang, Plain, Draft, [Some(4), Some(8), None]))),
            ("step[DRAFT_EXTEND_V2 bs=4 toks=8]", Some((Sglang, Plain, Draft, [Some(4), Some(8), None]))),
            ("step[SPLIT_PREFILL bs=1 toks=512]", Some((Sglang, Plain, Prefill, [Some(1), Some(512), None]))),
            ("step[DLLM_EXTEND bs=1 toks=32]", Some((Sglang, Plain, Prefill, [Some(1), Some(32), None]))),
            ("step[PREBUILT bs=2]", Some((Sglang, Plain, Idle, [Some(2), Some(0), None]))),
            ("step[SOMETHING_NEW bs=2 toks=7]", Some((Sglang, Plain, Mixed, [Some(2), Some(7), None]))),
            ("prefill[bs=2 tok=1024 ctx=[512, 512]]", Some((Atom, Plain, Prefill, [Some(2), Some(1024), None]))),
            ("prefill[bs=7 tok=99 ctx=[9, 9, 9, 9, 9]...+2 sqsq=5 sqsk=6 sk=120]", Some((Atom, Detailed, Prefill, [Some(7), Some(99), Some(120)]))),
            ("decode[bs=117/128 tok=117 d=117]", Some((Atom, Plain, Decode, [Some(117), Some(117), None]))),
            ("decode[bs=4 tok=8 d=4 spec=1 tbo=1 sqsq=16 sqsk=80 sk=40]", Some((Atom, Detailed, Decode, [Some(4), Some(8), Some(40)]))),
            ("decode[bs=4 tok=103 p=1 d=3]", Some((Atom, Plain, Mixed, [Some(4), Some(103), None]))),
            ("execute_diffusion_1_256x512", Some((Xdit, Plain, Diffusion, [None, None, None]))),
            ("model_inference", Some((Xdit, Plain, Diffusion, [None, None, None]))),
            // Annotations without a batch.
            ("ProfilerStep#3", None),
            ("model_inference of mine", None),
            ("my execute_new_1_cached_2", None),
            ("execute_context_1(888)_generation_2(2", None),
            ("execute_new_99999999999999999999999_cached_1", None),
            ("execute_diffusion_1_256", None),
        ];
        for (name, expected) in cases {
            let read = parse(name).map(|batch| {
                let counts = [batch.requests(), batch.tokens(), batch.kv_tokens()];
                (batch.engine, batch.tier, batch.phase, counts)
            });
            assert_eq!(read, *expected, "{name}");
        }
    }

    #[test]
    fn a_batch_says_what_attention_computes() {
        // By hand: context q = (4, 8), k = (4, 16); generation two requests, k = (10, 20).
        let name = "execute_14_context_2(sq12sk20sqsq80sqsk144)_generation_2(sq2sk30sqsq2sqsk30)";
        let batch = parse(name).unwrap();
        assert_eq!(batch.pairs(), Some([110.0, 30.0]));
        assert_eq!(batch.mean_context(), Some(15.0));
        // Two requests that compute three tokens each, k = (10, 20): 8 + 9 + 10 + 18 + 19 + 20.
        let drafted = "step[DECODE bs=2 g_sq=6 g_sk=30 g_sqsq=18 g_sqsk=90]";
        assert_eq!(parse(drafted).unwrap().pairs(), Some([0.0, 84.0]));
        let plain = parse("step[DECODE bs=2]").unwrap();
        assert_eq!((plain.pairs(), plain.has_lengths()), (None, false));
    }

    #[test]
    fn padding_and_images_are_read() {
        let padded = |name: &str| parse(name).unwrap().padded_to;
        assert_eq!(padded("decode[bs=117/128 tok=117 d=117]"), Some(128));
        assert_eq!(padded("decode[bs=128/128 tok=128 d=128]"), None);
        let images = Images {
            batch: 2,
            height: 256,
            width: 512,
        };
        let batch = parse("execute_diffusion_2_256x512").unwrap();
        assert_eq!(batch.images, Some(images));
        assert!(
            parse("decode[bs=4 tok=8 d=4 spec=1]")
                .unwrap()
                .is_speculative
        );
    }

    #[test]
    fn of_a_batch_only_words_of_its_grammar_stay() {
        #[rustfmt::skip]
        let cases = [
            ("execute_new_1_cached_31", Some("execute_new_1_cached_31")),
            ("step[MIXED bs=3 acme=7 c_sq=8 model=acme]", Some("step[MIXED bs=3 c_sq=8]")),
            ("decode[bs=117/128 tok=117 d=117 acme]", Some("decode[bs=117/128 tok=117 d=117]")),
            ("prefill[bs=2 tok=9 ctx=[4, 5]]", Some("prefill[bs=2 tok=9]")),
            ("acme step", None),
        ];
        for (name, expected) in cases {
            assert_eq!(without_own_words(name).as_deref(), expected, "{name}");
        }
    }
}
