//! The lines of Python for one operator.

use super::package;

/// The lines between the choice of the device and the timing.
fn lines(op: &str, args: &str) -> Vec<String> {
    let package = package(op, args);
    let text = package.entries[0].python().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "import torch");
    assert!(lines.last().unwrap().starts_with("print(Timer("), "{text}");
    assert!(text.ends_with("in the trace: 1000.0 µs\n"), "{text}");
    let device = lines.iter().position(|line| line.starts_with("dev = "));
    let inside = &lines[device.unwrap() + 1..lines.len() - 1];
    inside.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn a_product_is_ten_lines() {
    let expected = [
        "self = torch.randn((8,), device=dev, dtype=torch.float32)",
        "mat1 = torch.randn((4, 2), device=dev, dtype=torch.float32)",
        "mat2 = (torch.randn((16,), device=dev, dtype=torch.float32)).as_strided((2, 8), (1, 2))",
        "run = lambda: torch.ops.aten.addmm.default(self, mat1, mat2, beta=1, alpha=1)",
    ];
    assert_eq!(
        lines("aten::addmm", "8:float, 4x2:float, 2x8@1x2:float, =1*2"),
        expected
    );
}

#[test]
fn tensors_are_filled_as_operators_want_them() {
    #[rustfmt::skip]
    let cases = [
        ("aten::embedding", "100x8:float, 2x5:long int, =0, =False*2", "indices = torch.randint(0, 100, (2, 5), device=dev, dtype=torch.int64)"),
        ("aten::div", "3x4:float, =64", "self = torch.rand((3, 4), device=dev, dtype=torch.float32) + 0.5"),
        ("aten::masked_fill", "4:float, 4:bool, =-inf", "mask = (torch.rand((4,), device=dev) < 0.5).to(torch.bool)"),
        ("aten::masked_fill", "4:float, 4:bool, =-inf", "run = lambda: torch.ops.aten.masked_fill.Scalar(self, mask, float(\"-inf\"))"),
        ("aten::copy_", "4:float, 4:c10::Half, =False", "self = torch.zeros((4,), device=dev, dtype=torch.float32)"),
        ("aten::mm", "4x2:c10::Float8_e4m3fn, 2x8:c10::Float8_e4m3fn", "self = (torch.randn((4, 2), device=dev)).to(torch.float8_e4m3fn)"),
        ("aten::cat", "[2x3 2x5], =1", "tensors = [torch.randn((2, 3), device=dev, dtype=torch.float32), torch.randn((2, 5), device=dev, dtype=torch.float32)]"),
        ("aten::_grouped_mm", "64x8, 4x8x16, 4:int, _*2", "offs = torch.tensor([16, 32, 48, 64], device=dev, dtype=torch.int32)"),
        ("aten::sum", "8x10:float, =[0], =True, _", "run = lambda: torch.ops.aten.sum.dim_IntList(self, [0], True, dtype=None)"),
        ("vllm::rms_norm", "4x8:float, 8:float, =1e-06", "run = lambda: torch.ops.vllm.rms_norm(arg0, arg1, 1e-6)"),
    ];
    for (op, args, expected) in cases {
        let lines = lines(op, args);
        assert!(lines.iter().any(|line| line == expected), "{lines:#?}");
    }
}

#[test]
fn long_lists_of_tensors_are_one_line() {
    let adam = lines("aten::_foreach_add_", "[8x8 8 8x8 8 4], =1");
    assert!(
        adam[0].ends_with(" for size in [(8, 8), (8,), (8, 8), (8,), (4,)]]"),
        "{adam:?}"
    );
}
