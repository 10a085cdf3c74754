/**
 * V8 collects garbage once the heap has doubled. By itself it lets it grow to four times its size: sixty edits of a file
 * of 1 MiB then take 270 MiB, most of it garbage, in place of 200.
 */
export const heapFlag = "--v8-flags=--heap-growing-percent=100";
