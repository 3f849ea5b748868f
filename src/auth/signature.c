/* Whether a request comes from who it says: it carries a code that only he can make who knows the secret. */
#include "auth/internal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/core_names.h>

#include <assert.h>

enum { HMAC_BYTES = 20 };

/* HMAC-SHA1 of parts. */
static EVP_MAC_CTX *mac_begin(struct slice secret)
{
    static EVP_MAC *algorithm;
    if (!algorithm) algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *mac = algorithm ? EVP_MAC_CTX_new(algorithm) : NULL;
    OSSL_PARAM how[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA1", 0), OSSL_PARAM_construct_end()};
    int begun = mac && EVP_MAC_init(mac, secret.n ? secret.p : (const uint8_t *)"", secret.n, how);
    assert(begun);   /* it only lacks when the library is not whole */
    return mac;
}

static void mac_end(EVP_MAC_CTX *mac, uint8_t out[static HMAC_BYTES])
{
    size_t n;
    int ended = EVP_MAC_final(mac, out, &n, HMAC_BYTES);
    assert(ended && n == HMAC_BYTES);
    EVP_MAC_CTX_free(mac);
}

/* --- requests --- */

/* Those that are signed, in the order of their names. Clients before 4.9.4 sign without a field that they add afterwards. */
static size_t signed_fields(const struct frame *f, const struct frame_field *out[static FRAME_FIELDS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct frame_field *field = &f->fields[i];
        if (slice_eq(field->name, SLICE("Signature"))) continue;
        if (f->version < VERSION_4_9_4 && slice_eq(field->name, SLICE("_UNIQUE_KEY_QUERY"))) continue;
        size_t at = n++;
        for (; at > 0 && slice_compare(out[at - 1]->name, field->name) > 0; at--) out[at] = out[at - 1];
        out[at] = field;
    }
    return n;
}

void auth_sign_frame(const struct frame *frame, struct slice body, struct slice secret, char out[static SIGNATURE_TEXT])
{
    const struct frame_field *fields[FRAME_FIELDS_MAX];
    uint8_t code[HMAC_BYTES];
    size_t n = signed_fields(frame, fields);
    EVP_MAC_CTX *mac = mac_begin(secret);
    for (size_t i = 0; i < n; i++)
        if (fields[i]->value.n) EVP_MAC_update(mac, fields[i]->value.p, fields[i]->value.n);
    if (body.n) EVP_MAC_update(mac, body.p, body.n);
    mac_end(mac, code);
    EVP_EncodeBlock((uint8_t *)out, code, HMAC_BYTES);
}

static err_t find_signer(const struct auth *a, struct slice name, const struct account **out)
{
    if (!name.n) return err_new(ERR_NO_PERMISSION, "username cannot be null.");
    *out = auth_find(a, name);
    if (!*out) return err_new(ERR_NO_PERMISSION, "User:%.*s is not found.", SLICE_ARG(name));
    if ((*out)->disabled) return err_new(ERR_NO_PERMISSION, "User:%.*s is disabled.", SLICE_ARG(name));
    return NULL;
}

err_t auth_check_frame(const struct auth *a, const struct frame *frame, struct slice body, struct slice *out_user)
{
    struct slice name = frame_get(frame, SLICE("AccessKey")), given = frame_get(frame, SLICE("Signature"));
    const struct account *account;
    char right[SIGNATURE_TEXT];
    err_t e = find_signer(a, name, &account);
    if (e) return e;
    auth_sign_frame(frame, body, account->user.password, right);
    if (given.n != SIGNATURE_TEXT - 1 || CRYPTO_memcmp(given.p, right, given.n)) return err_new(ERR_NO_PERMISSION, "check signature failed.");
    *out_user = name;
    return NULL;
}

/* --- calls --- */

static int digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(struct slice text, uint8_t out[static HMAC_BYTES])
{
    if (text.n != 2 * HMAC_BYTES) return false;
    for (size_t i = 0; i < HMAC_BYTES; i++) {
        int high = digit(text.p[2 * i]), low = digit(text.p[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* "ALGORITHM Credential=NAME/REGION/SERVICE, SignedHeaders=…, Signature=HEX" */
static err_t read_authorization(struct slice text, struct slice *name, struct slice *signature)
{
    struct slice rest = text, word, item;
    if (!slice_split(&rest, ' ', &word) || !rest.p) return err_new(ERR_NO_PERMISSION, "authentication header is incorrect.");
    *name = *signature = (struct slice){NULL, 0};
    while (slice_split(&rest, ',', &item)) {
        struct slice value = slice_trim(item), key;
        if (!memchr(item.p ? item.p : (const uint8_t *)"", '=', item.n) || !slice_split(&value, '=', &key))
            return err_new(ERR_NO_PERMISSION, "authentication keyValues length is incorrect, actual length=1.");
        if (slice_eq(key, SLICE("Credential")) && !slice_split(&value, '/', name)) *name = (struct slice){NULL, 0};
        if (slice_eq(key, SLICE("Signature"))) *signature = value;
    }
    return NULL;
}

err_t auth_check_metadata(const struct auth *a, struct slice authorization, struct slice date_time, struct slice *out_user)
{
    struct slice name = {NULL, 0}, signature = {NULL, 0};
    const struct account *account;
    uint8_t right[HMAC_BYTES], given[HMAC_BYTES];
    if (authorization.n && !date_time.n) return err_new(ERR_NO_PERMISSION, "datetime is null.");
    err_t e = authorization.n ? read_authorization(authorization, &name, &signature) : NULL;
    if (!e) e = find_signer(a, name, &account);
    if (e) return e;
    EVP_MAC_CTX *mac = mac_begin(account->user.password);
    EVP_MAC_update(mac, date_time.p, date_time.n);
    mac_end(mac, right);
    if (!read_hex(signature, given) || CRYPTO_memcmp(given, right, HMAC_BYTES)) return err_new(ERR_NO_PERMISSION, "check signature failed.");
    *out_user = name;
    return NULL;
}
