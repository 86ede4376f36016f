-- shop.sql - makes the data: a shop with customers, products, orders and their items
--
--     sqlite3 shop.db < shop.sql                                     100000 orders, 422000 rows in all
--     sqlite3 -cmd '.parameter set @orders 2000' shop.db < shop.sql  as many orders as you like
--
-- The same each time: what looks random is from the upper bits of a product with a large prime.
-- SPDX-License-Identifier: MIT

PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
BEGIN;

CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE product(id INTEGER PRIMARY KEY, name TEXT, cents INTEGER);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer, day TEXT);
CREATE TABLE item(orders INTEGER REFERENCES orders, line INTEGER, product INTEGER REFERENCES product, pieces INTEGER,
  PRIMARY KEY(orders, line)) WITHOUT ROWID;
CREATE TABLE size(customers INTEGER, products INTEGER, orders INTEGER);

INSERT INTO size SELECT max(10, n / 5), max(10, n / 50), n FROM (SELECT coalesce(@orders, 100000) AS n);

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT (SELECT customers FROM size))
INSERT INTO customer
SELECT i, printf('Customer %05d', i),
  json_extract('["Aachen","Bologna","Chartres","Delft","Evora","Funchal","Ghent","Hamar","Izmir","Jena"]',
    printf('$[%d]', ((i * 2654435761) & 0xffffffff) / 4096 % 11 % 10)) FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT (SELECT products FROM size))
INSERT INTO product SELECT i, printf('Product %04d', i), 99 + ((i * 2654435761) & 0xffffffff) / 4096 % 20000 FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT (SELECT orders FROM size))
INSERT INTO orders
SELECT i, 1 + ((i * 2654435761) & 0xffffffff) / 4096 % (SELECT customers FROM size), date('2024-01-01', printf('+%d days', ((i * 2246822519) & 0xffffffff) / 4096 % 730)) FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT (SELECT 3 * orders FROM size))
INSERT INTO item
SELECT 1 + (i - 1) / 3, (i - 1) % 3, 1 + ((i * 3266489917) & 0xffffffff) / 4096 % (SELECT products FROM size),
  1 + ((i * 668265263) & 0xffffffff) / 4096 % 5 FROM n;

CREATE INDEX orders_customer ON orders(customer);
COMMIT;
ANALYZE;
