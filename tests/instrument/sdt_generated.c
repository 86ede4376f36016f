/*
 * sdt_generated.c - a program with the header that posixtrace-dtrace makes of sdt_shop.d
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>

#include "sdt_shop.h"

struct order {
	int id;
};

int main(void)
{
	struct order order = { 5 };
	long id = 1;

	printf("enabled %d, semaphore %d\n", SHOP_ORDER_BEGIN_ENABLED() != 0, shop_order__begin_semaphore);
	SHOP_ORDER_BEGIN(id, "tea", 250);
	SHOP_ORDER_END(id, 300, 7, 1, "word");
	SHOP_NOTHING();
	SHOP_EMPTY_WORDS();
	SHOP_POINTERS((struct order *)16, order.id ? (void *)17 : &order, "text", (unsigned char *)18, (void *)19, -1);
	SHOP_TRANSLATED((void *)20, ENOENT);
	printf("enabled %d\n", SHOP_ORDER_BEGIN_ENABLED() != 0);
	return 0;
}
