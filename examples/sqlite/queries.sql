-- queries.sql - what the demo runs in the shell: some of it fast, some slow, and two for want of an index
--
-- Each statement ends a line with its semicolon, and no other line ends with one: the test counts them.
-- SPDX-License-Identifier: MIT

SELECT name, city FROM customer WHERE id = 17;

SELECT orders.id, day, count(*) AS items FROM orders JOIN item ON item.orders = orders.id
WHERE customer = 17 GROUP BY orders.id ORDER BY day;

SELECT city, count(*) AS customers FROM customer GROUP BY city ORDER BY city;

SELECT substr(day, 1, 7) AS month, sum(pieces * cents) / 100.0 AS sales
FROM orders JOIN item ON item.orders = orders.id JOIN product ON product.id = item.product
GROUP BY month ORDER BY sales DESC LIMIT 5;

-- No index on item.product: the whole table is read for one product.
SELECT count(*) AS items, sum(pieces) AS pieces FROM item WHERE product = 7;

SELECT name FROM customer WHERE name LIKE '%999' ORDER BY name LIMIT 3;

-- No index on orders.day: every order is looked at.
SELECT count(*) AS orders FROM orders WHERE day BETWEEN '2025-06-01' AND '2025-06-07';

-- Rows come at once here ...
SELECT id, name, cents FROM product WHERE cents > 15000 LIMIT 5;

-- ... and only after everything has been sorted here.
SELECT customer.name, sum(pieces * cents) / 100.0 AS spent
FROM customer JOIN orders ON orders.customer = customer.id JOIN item ON item.orders = orders.id
JOIN product ON product.id = item.product
GROUP BY customer.id ORDER BY spent DESC LIMIT 5;

BEGIN;

UPDATE product SET cents = cents + 10 WHERE id % 2 = 0;

ROLLBACK;

SELECT name, city FROM customer WHERE id = 17;
