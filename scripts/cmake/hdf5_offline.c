/* Debian's libhdf5.a has a driver for files in S3, which needs these functions of libcurl and OpenSSL. Nothing here
   opens such files: the functions say that they cannot, so that neither library is linked. Hidden, so that no library
   loaded later finds these. */
#pragma GCC visibility push(hidden)

typedef void* Handle;

Handle curl_easy_init(void);
void curl_easy_cleanup(Handle handle);
int curl_easy_perform(Handle handle);
int curl_easy_setopt(Handle handle, int option, ...);
int curl_global_init(long flags);
void curl_global_cleanup(void);
Handle curl_slist_append(Handle list, const char* text);
void curl_slist_free_all(Handle list);
Handle EVP_sha256(void);
unsigned char* HMAC(Handle kind, const void* key, int key_size, const unsigned char* data, unsigned long size,
                    unsigned char* result, unsigned* result_size);
unsigned char* SHA256(const unsigned char* data, unsigned long size, unsigned char* result);

enum { failed = 2 }; /* CURLE_FAILED_INIT */

Handle curl_easy_init(void) {
  return 0;
}
void curl_easy_cleanup(Handle handle) {
  (void)handle;
}
int curl_easy_perform(Handle handle) {
  return (void)handle, failed;
}
int curl_easy_setopt(Handle handle, int option, ...) {
  return (void)handle, (void)option, failed;
}
int curl_global_init(long flags) {
  return (void)flags, failed;
}
void curl_global_cleanup(void) {}
Handle curl_slist_append(Handle list, const char* text) {
  return (void)list, (void)text, (Handle)0;
}
void curl_slist_free_all(Handle list) {
  (void)list;
}
Handle EVP_sha256(void) {
  return 0;
}
unsigned char* HMAC(Handle kind, const void* key, int key_size, const unsigned char* data, unsigned long size,
                    unsigned char* result, unsigned* result_size) {
  return (void)kind, (void)key, (void)key_size, (void)data, (void)size, (void)result, (void)result_size,
         (unsigned char*)0;
}
unsigned char* SHA256(const unsigned char* data, unsigned long size, unsigned char* result) {
  return (void)data, (void)size, (void)result, (unsigned char*)0;
}

#pragma GCC visibility pop
