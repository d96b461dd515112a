# What a debugger does with a board; gdb_test.cpp compares what it prints.
set pagination off
set confirm off
break function
continue
printf "A pc=%#x ra=%#x s11=%#x\n", $pc, $ra, $s11
printf "B function=%#x\n", (unsigned)&function
stepi
printf "C pc=%#x\n", $pc
delete
printf "D f1=%g\n", $f1
set $f1 = 2.5
set $a3 = 99
printf "E f1=%g a3=%d\n", $f1, $a3
set {int}0x20000010 = 1234
printf "F memory=%d rom=%#x\n", *(int*)0x20000010, *(int*)&constant
watch *(int*)0x2000a044
set var $before = *(int*)0x2000a044
continue
printf "G changed=%d\n", *(int*)0x2000a044 != $before
info threads
thread 2
printf "H hart 1 pc in park=%d\n", $pc >= (unsigned)&park && $pc < (unsigned)&measure
delete
continue
