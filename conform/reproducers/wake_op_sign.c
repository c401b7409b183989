/* The operand of FUTEX_WAKE_OP has twelve bits and a sign: setting -1 leaves 0xffffffff on Linux. */
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	unsigned first = 0, second = 7;
	unsigned set = FUTEX_OP(FUTEX_OP_SET, -1, FUTEX_OP_CMP_EQ, 0);
	long answer = syscall(SYS_futex, &first, FUTEX_WAKE_OP_PRIVATE, 0, 0L, &second, set);
	printf("FUTEX_WAKE_OP: %ld; the second word: %#x\n", answer, second);
	return second != 0xffffffff;
}
