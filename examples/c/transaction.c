/* A message that is delivered only when what belongs to it was done: ./transaction [NAME_SERVERS [TOPIC]] */
#include <skylark/skylark.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool asked;

static void check(struct sky_error *e)
{
    if (!e) return;
    fprintf(stderr, "%s: %s\n", sky_code_name(sky_error_code(e)), sky_error_text(e));
    sky_error_free(e);
    exit(1);
}

/* The server heard of no end: look into your database for what became of it. Runs on a callback thread. */
static enum sky_transaction what_became_of(void *user, const struct sky_message *m)
{
    (void)user;
    printf("asked after %s\n", sky_message_keys(m));
    pthread_mutex_lock(&lock);
    asked = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return SKY_TRANSACTION_COMMIT;
}

static void send(struct sky_producer *producer, const char *topic, const char *order, enum sky_transaction outcome)
{
    struct sky_message *m = sky_message_new(topic, order, 2);
    struct sky_receipt *half;
    check(sky_message_set_keys(m, order));
    check(sky_producer_send_half(producer, m, NULL, &half));
    /* Here your own database would be changed; then: */
    check(sky_producer_end_transaction(producer, half, outcome));
    sky_receipt_free(half);
    sky_message_free(m);
}

int main(int argc, char **argv)
{
    const char *servers = argc > 1 ? argv[1] : "127.0.0.1:9876", *topic = argc > 2 ? argv[2] : "Deals";
    struct sky_client_options *options = sky_client_options_new();
    struct sky_client *client;
    check(sky_client_options_set_name_servers(options, servers));
    check(sky_client_open(options, &client));
    sky_client_options_free(options);

    struct sky_producer_options *how = sky_producer_options_new("deals_producer");
    struct sky_producer *producer;
    sky_producer_options_set_transaction_check(how, what_became_of, NULL);
    check(sky_producer_open(client, how, &producer));
    sky_producer_options_free(how);

    send(producer, topic, "d1", SKY_TRANSACTION_COMMIT);
    send(producer, topic, "d2", SKY_TRANSACTION_ROLLBACK);
    send(producer, topic, "d3", SKY_TRANSACTION_UNKNOWN);
    pthread_mutex_lock(&lock);
    while (!asked) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    sky_producer_free(producer);
    sky_client_free(client);
    return 0;
}
