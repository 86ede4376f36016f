/*
 * sdt_shop.d - probes with named arguments, for sdt_generated.c
 *
 * SPDX-License-Identifier: MIT
 */
#pragma D attributes Stable/Stable/Common provider shop provider
#define Number unsigned int
typedef Number Price;

provider shop {
	/* A comment with a ; and a }. */
	probe order__begin(int id, const char *item, Price price); // two
	probe order__end(int id, unsigned char how, uint64_t time, double weight, string word);
	probe nothing();
	probe empty-words(void);
	probe pointers(struct order *order, void *, char *text, const unsigned char *bytes, struct order (*fn)(int), long);
	probe
	    translated(order_t *o : (orderinfo_t *) o, int errno);
};
