#include "net/tls.h"

#include "net/tls_internal.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>

enum { DAYS = 3650, SERIAL_BYTES = 8, NAME_MAX_TEXT = 320, COMMON_NAME_MAX = 64 };

static bool add_names(X509 *x, const char *host)
{
    char names[NAME_MAX_TEXT];
    snprintf(names, sizeof names, "DNS:localhost,IP:127.0.0.1,IP:::1%s%.255s", *host ? ",DNS:" : "", host);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    bool fine = e && X509_add_ext(x, e, -1) == 1;
    X509_EXTENSION_free(e);
    return fine;
}

static bool set_serial(X509 *x)
{
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    bytes[0] &= 0x7F;
    BIGNUM *n = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool fine = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
    BN_free(n);
    return fine;
}

static bool fill(X509 *x, EVP_PKEY *key, const char *host)
{
    char common[COMMON_NAME_MAX + 1];
    X509_NAME *name = X509_get_subject_name(x);
    snprintf(common, sizeof common, "%.63s", *host ? host : "localhost");
    return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) && X509_gmtime_adj(X509_getm_notBefore(x), -86400) &&
           X509_time_adj_ex(X509_getm_notAfter(x), DAYS, 0, NULL) && X509_set_pubkey(x, key) == 1 &&
           X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"Skylark", -1, -1, 0) == 1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common, -1, -1, 0) == 1 &&
           X509_set_issuer_name(x, name) == 1 && add_names(x, host) && X509_sign(x, key, EVP_sha256()) > 0;
}

static bool put_pem(BIO *bio, struct buf *out)
{
    char *p;
    long n = BIO_get_mem_data(bio, &p);
    if (n <= 0) return false;
    buf_put(out, p, (size_t)n);
    return true;
}

err_t tls_make_certificate(const char *host, struct buf *certificate, struct buf *key)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    BIO *cert_text = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_mem());
    bool fine = pair && x && fill(x, pair, host) && PEM_write_bio_X509(cert_text, x) == 1 &&
                PEM_write_bio_PrivateKey(key_text, pair, NULL, NULL, 0, NULL, NULL) == 1;
    fine = fine && put_pem(cert_text, certificate) && put_pem(key_text, key);
    err_t e = fine ? NULL : tls_error(ERR_INTERNAL, "cannot make a certificate");
    BIO_free(cert_text);
    BIO_free(key_text);
    X509_free(x);
    EVP_PKEY_free(pair);
    return e;
}
