//! XLA programs (HLO): maps an instruction to an operator with the shapes of its operands.

use crate::base::map::Map;
use crate::import::args_text::push_text;
use crate::import::wire::{Fields, Value};

/// More operands than this, or sizes per operand, are damage.
const MOST_OPERANDS: usize = 4096;
const MOST_SIZES: usize = 32;

/// The instructions of a program.
#[derive(Debug, Default)]
pub(super) struct Program<'a> {
    by_name: Map<&'a [u8], Fields<'a>>,
    /// Shapes of results, by instruction number.
    shapes: Map<u64, Value<'a>>,
}

/// An instruction as an operator.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Operator {
    pub(super) name: String,
    /// Its origin in the user's program: path, file and line; the line is 0 if unknown.
    pub(super) path: String,
    pub(super) file: String,
    pub(super) line: u64,
    /// Arguments in the form of PyTorch's JSON.
    pub(super) dims: String,
    pub(super) types: String,
    pub(super) concrete: String,
}

/// The fields of an instruction that are read.
#[derive(Default)]
struct Instruction<'a> {
    opcode: &'a [u8],
    target: &'a [u8],
    path: String,
    file: String,
    line: u64,
    operands: Vec<u64>,
    window: Option<Value<'a>>,
    dimensions: Option<Value<'a>>,
    groups: u64,
}

impl<'a> Program<'a> {
    /// Reads a program (`HloProto`).
    pub(super) fn read(proto: &'a [u8]) -> Program<'a> {
        let of = |fields: Fields<'a>, wanted| {
            let wanted = fields.filter(move |(number, _)| *number == wanted);
            wanted.map(|(_, value)| value.fields())
        };
        let computations = of(Fields::of(proto), 1).flat_map(|module| of(module, 3));
        let mut program = Program::default();
        for instruction in computations.flat_map(|computation| of(computation, 2)) {
            let (mut id, mut shape) = (0, None);
            for (number, value) in instruction.clone() {
                match number {
                    1 => {
                        program.by_name.insert(value.bytes(), instruction.clone());
                    }
                    3 => shape = Some(value),
                    35 => id = value.number(),
                    _ => {}
                }
            }
            program.shapes.extend(shape.map(|shape| (id, shape)));
        }
        program
    }

    /// An instruction as an operator; `None` if the program does not have it.
    pub(super) fn operator(&self, name: &str) -> Option<Operator> {
        let instruction = Instruction::read(self.by_name.get(name.as_bytes())?.clone());
        let shapes = instruction.operands.iter();
        let shapes = shapes.map(|id| self.shapes.get(id).map(|shape| Shape::read(*shape, 0)));
        let mut shapes: Vec<Shape> = shapes.map(Option::unwrap_or_default).collect();
        let mut operator = Operator {
            name: format!("xla::{}", without_number(name)),
            path: instruction.path.clone(),
            file: instruction.file.clone(),
            line: instruction.line,
            ..Operator::default()
        };
        if instruction.is_convolution() {
            operator.name = "xla::convolution".to_owned();
            shapes.truncate(2);
            let settings = instruction.convolution(&mut shapes);
            let n_settings = settings.as_ref().map_or(0, Vec::len);
            // The operands, no bias, and the settings of the convolution.
            let values = ["", "", ""].map(str::to_owned).into_iter();
            let values: Vec<String> = values.chain(settings.into_iter().flatten()).collect();
            if n_settings > 0 {
                shapes.resize_with(values.len(), Shape::default);
                operator.concrete = list(values.iter().map(|value| quoted(value)));
            }
        }
        operator.dims = list(
            shapes
                .iter()
                .map(|shape| list(shape.sizes.iter().map(i64::to_string))),
        );
        operator.types = list(shapes.iter().map(|shape| quoted(shape.dtype)));
        Some(operator)
    }
}

impl<'a> Instruction<'a> {
    fn read(fields: Fields<'a>) -> Instruction<'a> {
        let mut instruction = Instruction {
            groups: 1,
            ..Instruction::default()
        };
        for (number, value) in fields {
            match number {
                2 => instruction.opcode = value.bytes(),
                7 => {
                    for (number, value) in value.fields() {
                        match number {
                            2 => instruction.path = value.text().into_owned(),
                            3 => instruction.file = value.text().into_owned(),
                            4 => instruction.line = value.number(),
                            _ => {}
                        }
                    }
                }
                15 => instruction.window = Some(value),
                16 => instruction.dimensions = Some(value),
                28 => instruction.target = value.bytes(),
                36 => {
                    let room = MOST_OPERANDS.saturating_sub(instruction.operands.len());
                    instruction.operands.extend(value.numbers().take(room));
                }
                50 => instruction.groups = value.number().max(1),
                _ => {}
            }
        }
        instruction
    }

    fn is_convolution(&self) -> bool {
        const TARGETS: [&[u8]; 2] = [b"__cudnn$convForward", b"__cudnn$convBiasActivationForward"];
        self.opcode == b"convolution" || TARGETS.contains(&self.target)
    }

    /// Stride, padding, dilation, whether it is transposed, output padding and groups, in PyTorch's form; reorders the
    /// dimensions of the operands to PyTorch's order. `None` for a convolution that PyTorch cannot express.
    fn convolution(&self, shapes: &mut [Shape]) -> Option<Vec<String>> {
        let [input, filter] = shapes else { return None };
        let mut order = Order::default();
        for (number, value) in self.dimensions?.fields() {
            let number_of = || value.number() as usize;
            let numbers_of = || value.numbers().take(MOST_SIZES).map(|at| at as usize);
            match number {
                3 => order.filter_input = number_of(),
                4 => order.filter_output = number_of(),
                6 => order.filter_spatial.extend(numbers_of()),
                7 => order.batch = number_of(),
                8 => order.feature = number_of(),
                11 => order.spatial.extend(numbers_of()),
                _ => {}
            }
        }
        let [mut stride, mut padding, mut dilation] = [const { Vec::new() }; 3];
        let window = self.window?.fields().filter(|(number, _)| *number == 1);
        for (_, dimension) in window.take(MOST_SIZES) {
            // Stride, padding below and above, dilation of the filter and of the input.
            let mut of = [1, 0, 0, 1, 1];
            for (number, value) in dimension.fields() {
                if let Some(slot) = of.get_mut((number as usize).wrapping_sub(2)) {
                    *slot = value.signed();
                }
            }
            let [by, below, above, apart, 1] = of else {
                return None;
            };
            if below != above {
                return None;
            }
            stride.push(by.to_string());
            padding.push(below.to_string());
            dilation.push(apart.to_string());
        }
        let n_spatial = stride.len();
        let firsts = [order.batch, order.feature];
        input.sizes = pick(&input.sizes, firsts, &order.spatial)?;
        let firsts = [order.filter_output, order.filter_input];
        filter.sizes = pick(&filter.sizes, firsts, &order.filter_spatial)?;
        (input.sizes.len() == n_spatial + 2 && filter.sizes.len() == n_spatial + 2).then_some(())?;
        let zeros = list(vec!["0".to_owned(); n_spatial].into_iter());
        let [stride, padding, dilation] =
            [stride, padding, dilation].map(|of| list(of.into_iter()));
        Some(vec![
            stride,
            padding,
            dilation,
            "False".to_owned(),
            zeros,
            self.groups.to_string(),
        ])
    }
}

/// The positions of a convolution's dimensions.
#[derive(Default)]
struct Order {
    batch: usize,
    feature: usize,
    spatial: Vec<usize>,
    filter_output: usize,
    filter_input: usize,
    filter_spatial: Vec<usize>,
}

fn pick(sizes: &[i64], firsts: [usize; 2], spatial: &[usize]) -> Option<Vec<i64>> {
    let places = firsts.iter().chain(spatial);
    places.map(|at| sizes.get(*at).copied()).collect()
}

/// The shape of an array, or of the first one if there are several.
#[derive(Debug, Clone, Default)]
struct Shape {
    dtype: &'static str,
    sizes: Vec<i64>,
}

impl Shape {
    fn read(value: Value, depth: u32) -> Shape {
        let mut shape = Shape::default();
        for (number, value) in value.fields() {
            match number {
                2 => shape.dtype = dtype(value.number()),
                3 => {
                    let room = MOST_SIZES.saturating_sub(shape.sizes.len());
                    let sizes = value.numbers().take(room);
                    shape.sizes.extend(sizes.map(u64::cast_signed));
                }
                4 if depth < crate::import::wire::MOST_DEPTH => {
                    return Shape::read(value, depth + 1);
                }
                _ => {}
            }
        }
        shape
    }
}

/// PyTorch's name of an element type (`PrimitiveType`).
fn dtype(number: u64) -> &'static str {
    match number {
        1 => "bool",
        2 => "signed char",
        3 => "short",
        4 => "int",
        5 => "long int",
        6 => "unsigned char",
        7 => "unsigned short",
        8 => "unsigned int",
        9 => "unsigned long",
        10 => "c10::Half",
        11 => "float",
        12 => "double",
        15 => "c10::complex<float>",
        16 => "c10::BFloat16",
        18 => "c10::complex<double>",
        19 => "c10::Float8_e5m2",
        20 => "c10::Float8_e4m3fn",
        24 => "c10::Float8_e5m2fnuz",
        25 => "c10::Float8_e4m3fnuz",
        _ => "",
    }
}

/// `cudnn-conv` for `cudnn-conv.1.0`: the numbers distinguish the instructions of a program.
fn without_number(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.')
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    push_text(text, &mut out);
    String::from_utf8(out).unwrap_or_default()
}
