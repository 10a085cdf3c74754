/* Prints the numbers of src/lib/kernel as the headers of one architecture have them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#define N(name) printf("%s %ld\n", #name, (long)(name));
#define S(member) printf("%s %ld\n", #member, (long)offsetof(struct statx, member));
#define D(member) printf("%s %ld\n", #member, (long)offsetof(struct dirent64, member));
int main(void) {
  N(O_WRONLY) N(O_CREAT) N(O_EXCL) N(O_APPEND) N(O_NOCTTY) N(O_NONBLOCK) N(O_DIRECTORY) N(O_NOFOLLOW) N(O_CLOEXEC) N(O_PATH)
  N(SYS_openat2) N(RESOLVE_NO_XDEV) N(RESOLVE_NO_MAGICLINKS) N(RESOLVE_NO_SYMLINKS) N(RESOLVE_BENEATH)
  printf("openHowBytes %ld\n", (long)sizeof(struct open_how));
  N(AT_FDCWD) N(AT_SYMLINK_NOFOLLOW) N(AT_REMOVEDIR) N(AT_NO_AUTOMOUNT) N(AT_EMPTY_PATH) N(RENAME_NOREPLACE) N(PROT_READ) N(MAP_SHARED)
  N(LOCK_EX) N(LOCK_NB) N(LOCK_UN) N(STATX_BASIC_STATS) N(STATX_BTIME) N(STATX_MNT_ID)
  N(S_IFMT) N(S_IFDIR) N(S_IFREG) N(S_IFLNK) N(DT_UNKNOWN) N(DT_DIR) N(DT_REG) N(DT_LNK)
  printf("bytes %ld\n", (long)sizeof(struct statx));
  S(stx_nlink) S(stx_uid) S(stx_gid) S(stx_mode) S(stx_ino) S(stx_size) S(stx_btime) S(stx_ctime) S(stx_mtime)
  S(stx_dev_major) S(stx_dev_minor) S(stx_mnt_id)
  D(d_reclen) D(d_type) D(d_name)
#define E(name) printf("%d %s\n", name, #name);
  E(EPERM) E(ENOENT) E(EINTR) E(EIO) E(ENXIO) E(EBADF) E(EAGAIN) E(ENOMEM) E(EACCES) E(EBUSY) E(EEXIST) E(EXDEV) E(ENODEV)
  E(ENOTDIR) E(EISDIR) E(EINVAL) E(ENFILE) E(EMFILE) E(ETXTBSY) E(EFBIG) E(ENOSPC) E(EROFS) E(EMLINK) E(ENAMETOOLONG)
  E(ENOSYS) E(ENOTEMPTY) E(ELOOP) E(EOVERFLOW) E(EOPNOTSUPP) E(ETIMEDOUT) E(ESTALE) E(EDQUOT)
  return 0;
}
