-- statements.sql - what the documents let sqlite3 do while it is traced
--
-- SPDX-License-Identifier: MIT
create table t(a, b);
insert into t values(1,2),(3,4);
select * from t;
select count(*) from t where a > 1;
