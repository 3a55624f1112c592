//go:build !noasm

#include "textflag.h"

// Counter blocks are held with the counter, their last word, in the machine's
// order; swap brings it into network order.
DATA swap<>+0(SB)/8, $0x0706050403020100
DATA swap<>+8(SB)/8, $0x0c0d0e0f0b0a0908
DATA swap<>+16(SB)/8, $0x0706050403020100
DATA swap<>+24(SB)/8, $0x0c0d0e0f0b0a0908
GLOBL swap<>(SB), RODATA|NOPTR, $32

// What makes a pair of blocks out of one twice, and the next pair out of a pair.
DATA second<>+0(SB)/8, $0
DATA second<>+8(SB)/8, $0
DATA second<>+16(SB)/8, $0
DATA second<>+24(SB)/8, $0x0000000100000000
GLOBL second<>(SB), RODATA|NOPTR, $32

DATA pair<>+0(SB)/8, $0
DATA pair<>+8(SB)/8, $0x0000000200000000
DATA pair<>+16(SB)/8, $0
DATA pair<>+24(SB)/8, $0x0000000200000000
GLOBL pair<>(SB), RODATA|NOPTR, $32

#define COUNTER(block) \
	VPSHUFB swap<>(SB), Y0, block \
	VPADDD  pair<>(SB), Y0, Y0    \
	VPXOR   Y5, block, block

#define ROUND(key) \
	VAESENC key, Y1, Y1 \
	VAESENC key, Y2, Y2 \
	VAESENC key, Y3, Y3 \
	VAESENC key, Y4, Y4

// func keyStream(dst *byte, units int, keys *[11][16]byte, first *[16]byte)
TEXT ·keyStream(SB), NOSPLIT, $0-32
	MOVQ           dst+0(FP), DI
	MOVQ           units+8(FP), CX
	MOVQ           keys+16(FP), SI
	MOVQ           first+24(FP), DX
	VBROADCASTI128 (DX), Y0
	VPADDD         second<>(SB), Y0, Y0
	VBROADCASTI128 0(SI), Y5
	VBROADCASTI128 16(SI), Y6
	VBROADCASTI128 32(SI), Y7
	VBROADCASTI128 48(SI), Y8
	VBROADCASTI128 64(SI), Y9
	VBROADCASTI128 80(SI), Y10
	VBROADCASTI128 96(SI), Y11
	VBROADCASTI128 112(SI), Y12
	VBROADCASTI128 128(SI), Y13
	VBROADCASTI128 144(SI), Y14
	VBROADCASTI128 160(SI), Y15

next:
	COUNTER(Y1)
	COUNTER(Y2)
	COUNTER(Y3)
	COUNTER(Y4)
	ROUND(Y6)
	ROUND(Y7)
	ROUND(Y8)
	ROUND(Y9)
	ROUND(Y10)
	ROUND(Y11)
	ROUND(Y12)
	ROUND(Y13)
	ROUND(Y14)
	VAESENCLAST Y15, Y1, Y1
	VAESENCLAST Y15, Y2, Y2
	VAESENCLAST Y15, Y3, Y3
	VAESENCLAST Y15, Y4, Y4
	VMOVDQU     Y1, 0(DI)
	VMOVDQU     Y2, 32(DI)
	VMOVDQU     Y3, 64(DI)
	VMOVDQU     Y4, 96(DI)
	ADDQ        $128, DI
	DECQ        CX
	JNZ         next
	VZEROUPPER
	RET

// A round key is the running sums of the words of the last, each with the
// substituted and rotated last word.
#define EXPAND(constant, at) \
	AESKEYGENASSIST $constant, X0, X1 \
	PSHUFD          $0xff, X1, X1     \
	MOVOU           X0, X2            \
	PSLLO           $4, X2            \
	PXOR            X2, X0            \
	PSLLO           $4, X2            \
	PXOR            X2, X0            \
	PSLLO           $4, X2            \
	PXOR            X2, X0            \
	PXOR            X1, X0            \
	MOVOU           X0, at(DI)

// func expandKey(keys *[11][16]byte, key *[16]byte)
TEXT ·expandKey(SB), NOSPLIT, $0-16
	MOVQ  keys+0(FP), DI
	MOVQ  key+8(FP), SI
	MOVOU (SI), X0
	MOVOU X0, (DI)
	EXPAND(0x01, 16)
	EXPAND(0x02, 32)
	EXPAND(0x04, 48)
	EXPAND(0x08, 64)
	EXPAND(0x10, 80)
	EXPAND(0x20, 96)
	EXPAND(0x40, 112)
	EXPAND(0x80, 128)
	EXPAND(0x1b, 144)
	EXPAND(0x36, 160)
	RET
