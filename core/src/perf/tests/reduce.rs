//! Many elements to few.

use super::{check, counted};
use crate::perf::python_dict;

#[test]
fn reductions_keep_what_is_not_reduced() {
    check(
        "
        aten::mean(16x559x1024, =[-1], =True) -> 9158656 | 2*(9158656 + 8944)
        aten::sum(2x5) -> 10 | 22
        # Four rows: a value and an index of 8 bytes each.
        aten::max(4x8, =-1, =False) -> 32 | 64 + 4*10
        aten::max(4x8, 4x8) -> 32 | 192
        aten::argmax(4x8, =-1, =False) -> 32 | 64 + 32
        aten::cumsum(4x8, =0) -> 32 | 128
        aten::norm(4x8, =2, =[0]) -> 32 | 64 + 16
        # The type of the result, 6 for single precision, is no dimension.
        aten::sum(4x8, =6) -> 32 | 64 + 4
        aten::mean(4x8, =6) -> 32 | 64 + 4
        aten::prod(4x8, =6) -> 32 | 64 + 4
        aten::prod(4x8, =1, =False, _) -> 32 | 64 + 4*2
        aten::sum(4x8, =[], =False, =6) -> 32 | 64 + 4
        # Whole numbers are summed up in 64 bits.
        aten::sum(8:int) -> 8 | 8*4 + 8
        ",
    );
}

#[test]
fn reductions_keep_the_reference_s_view_in_the_parameters() {
    let mean = counted("aten::mean(2x3:float, =[-1], =True)").unwrap();
    assert_eq!(
        python_dict(&mean.params),
        "{'num_input_elems': 6, 'num_output_elems': 1, 'dtype_in_out': ('float', None), 'reduce_type': 'mean'}"
    );
}

#[test]
fn running_and_flags() {
    check(
        "
        aten::logcumsumexp(4x8, =0) -> 32 | 128
        aten::_cummax_helper(4x8, 4x8, 4x8:long int, =0) -> 32 | 64 + 32*10
        aten::any(4x8:bool, =1) -> 32 | 32 + 4
        aten::std(4x8, =[1], =1, =False) -> 32 | 64 + 8
        aten::logsumexp(4x8, =[1], =False) -> 32 | 64 + 8
        ",
    );
}
