/* Folders by UTF-8 names. */
#ifndef PV_WINDOWS_DIRENT_H
#define PV_WINDOWS_DIRENT_H

typedef struct pv__windows_folder DIR;

struct dirent {
    char d_name[4 * 260];
};

DIR *pv__windows_opendir(const char *path);
struct dirent *pv__windows_readdir(DIR *folder);
int pv__windows_closedir(DIR *folder);
int pv__windows_delete_in(DIR *folder, const char *name);

#define opendir(path) pv__windows_opendir(path)
#define readdir(folder) pv__windows_readdir(folder)
#define closedir(folder) pv__windows_closedir(folder)
#define dirfd(folder) (folder) /* a folder has no descriptor; for unlinkat alone */
#define unlinkat(folder, name, flags) pv__windows_delete_in(folder, name)

#endif
