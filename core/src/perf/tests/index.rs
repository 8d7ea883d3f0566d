//! Picking, placing, joining.

use super::check;

#[test]
fn picking_and_joining() {
    check(
        "
        # Three rows of 4: read, written; three indices, here of two bytes.
        aten::embedding(100x4, 3) -> 0 | 54
        aten::index_select(100x4, =0, 3) -> 0 | 54
        aten::gather(100x4, =0, 3x4) -> 0 | 72
        # 20 elements read and written; the kernel's name says two bytes.
        aten::cat([2x4 3x4], =0) -> 0 | 80
        aten::cat([2x4 3x4], =0) by k -> 0 | ?
        ",
    );
}

/// The indices of `index_put_` are not recorded: values may fill more places than they are.
#[test]
fn values_that_may_be_stretched_say_nothing() {
    check(
        "
        # Three rows of 4, two bytes each, read and placed.
        aten::index_put_(100x4, _, 3x4, =False) -> 0 | 48
        aten::index_put_(100x4, _, (), =False) -> none
        aten::index_put_(100x4, _, 4, =False) -> none
        aten::index_put_(100x4, _, 1x4, =False) -> none
        aten::index_put_(100x4, _, 3x1, =False) -> none
        ",
    );
}

#[test]
fn bags_and_searches() {
    check(
        "
        # Three rows of 4 make two bags: 12 numbers read, 8 written, offsets and indices of 8 bytes.
        aten::_embedding_bag(100x4, 3:long int, 2:long int) -> 12 | 24 + 16 + 24 + 16
        aten::_embedding_bag_dense_backward(2x4, 3:long int, 3:long int, 2:long int, 2:long int, =100) -> 12 | 16 + 24 + 800
        aten::embedding_dense_backward(3x4, 3:long int, =100) -> 12 | 24 + 24 + 800
        aten::index_fill_(5x4, =0, 2:long int, =1) -> 0 | 16 + 16
        aten::take(100, 3:long int) -> 0 | 6 + 24 + 6
        aten::scatter_add_(9x4, =0, 3x4:long int, 3x4) -> 0 | 96 + 24 + 2*24
        aten::scatter_(9x4, =0, 3x4:long int, 3x4) -> 0 | 96 + 24 + 24
        # What is added to is read as well.
        aten::index_add_(9x4, =0, 3:long int, 3x4, =1) -> 0 | 24 + 3*24
        aten::index_copy_(9x4, =0, 3:long int, 3x4) -> 0 | 24 + 2*24
        # Seven bounds are searched in three steps.
        aten::bucketize(5:float, 7:float) -> 15 | 20 + 28 + 40
        aten::searchsorted(7:float, 5:float) -> 15 | 20 + 28 + 40
        aten::constant_pad_nd(2x3, =[1, 0], =0) -> 0 | 2*(6 + 8)
        aten::roll(2x3, =[1], =[0]) -> 0 | 24
        aten::tril(4x4, =0) -> 0 | 48
        aten::nonzero(2x3:bool) -> 0 | 6
        ",
    );
}
