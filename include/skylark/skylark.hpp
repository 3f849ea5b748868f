// skylark.hpp - libskylark for C++11 and later: handles that end by themselves, and errors that are thrown. What the functions mean, their
// threads and units: skylark.h.
#ifndef SKYLARK_SKYLARK_HPP
#define SKYLARK_SKYLARK_HPP

#include <skylark/skylark.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace skylark {

// What a function of skylark.h returned: thrown.
class error : public std::runtime_error {
public:
    explicit error(const sky_error *e) : std::runtime_error(sky_error_text(e)), code_(sky_error_code(e)), response_(sky_error_response(e)) {}
    sky_code code() const noexcept { return code_; }
    // Of the server's answer; 0 when no server answered.
    int32_t response() const noexcept { return response_; }

private:
    sky_code code_;
    int32_t response_;
};

// Throws unless e is NULL; frees it.
inline void check(sky_error *e)
{
    if (!e) return;
    error thrown(e);
    sky_error_free(e);
    throw thrown;
}

namespace detail {
template <typename T, void (*Free)(T *)> struct freer {
    void operator()(T *p) const noexcept { Free(p); }
};
template <typename T, void (*Free)(T *)> using handle = std::unique_ptr<T, freer<T, Free>>;
}

class message {
public:
    message(const std::string &topic, const void *body, size_t bytes) : h_(sky_message_new(topic.c_str(), body, bytes)) {}
    message(const std::string &topic, const std::string &body) : message(topic, body.data(), body.size()) {}
    message &tag(const std::string &v) { check(sky_message_set_tag(h_.get(), v.c_str())); return *this; }
    message &keys(const std::string &v) { check(sky_message_set_keys(h_.get(), v.c_str())); return *this; }
    message &property(const std::string &name, const std::string &v) { check(sky_message_set_property(h_.get(), name.c_str(), v.c_str())); return *this; }
    message &delay_level(int32_t level) { check(sky_message_set_delay_level(h_.get(), level)); return *this; }
    message &delay_ms(int64_t ms) { check(sky_message_set_delay_ms(h_.get(), ms)); return *this; }
    message &deliver_at_ms(int64_t time_ms) { check(sky_message_set_deliver_at_ms(h_.get(), time_ms)); return *this; }
    const sky_message *get() const noexcept { return h_.get(); }

private:
    detail::handle<sky_message, sky_message_free> h_;
};

class receipt {
public:
    explicit receipt(sky_receipt *r) : h_(r) {}
    sky_stored stored() const noexcept { return sky_receipt_stored(h_.get()); }
    std::string message_id() const { return sky_receipt_message_id(h_.get()); }
    std::string broker() const { return sky_receipt_broker(h_.get()); }
    int32_t queue_id() const noexcept { return sky_receipt_queue_id(h_.get()); }
    int64_t queue_offset() const noexcept { return sky_receipt_queue_offset(h_.get()); }
    const sky_receipt *get() const noexcept { return h_.get(); }

private:
    detail::handle<sky_receipt, sky_receipt_free> h_;
};

class client_options {
public:
    explicit client_options(const std::string &name_servers) : h_(sky_client_options_new())
    {
        check(sky_client_options_set_name_servers(h_.get(), name_servers.c_str()));
    }
    sky_client_options *get() const noexcept { return h_.get(); }   // for the setters of skylark.h

private:
    detail::handle<sky_client_options, sky_client_options_free> h_;
};

class client {
public:
    explicit client(const client_options &o)
    {
        sky_client *c;
        check(sky_client_open(o.get(), &c));
        h_.reset(c);
    }
    explicit client(const std::string &name_servers) : client(client_options(name_servers)) {}
    std::string id() const { return sky_client_id(h_.get()); }
    void shutdown() { check(sky_client_shutdown(h_.get())); }
    sky_client *get() const noexcept { return h_.get(); }

private:
    detail::handle<sky_client, sky_client_free> h_;
};

class producer_options {
public:
    explicit producer_options(const std::string &group) : h_(sky_producer_options_new(group.c_str())) {}
    sky_producer_options *get() const noexcept { return h_.get(); }

private:
    detail::handle<sky_producer_options, sky_producer_options_free> h_;
};

class producer {
public:
    // How an asynchronous send ended; error NULL: well. Runs on a callback thread; must not throw.
    using sent = std::function<void(const sky_error *error, const sky_receipt *receipt)>;

    producer(const client &c, const producer_options &o)
    {
        sky_producer *p;
        check(sky_producer_open(c.get(), o.get(), &p));
        h_.reset(p);
    }
    producer(const client &c, const std::string &group) : producer(c, producer_options(group)) {}

    receipt send(const message &m, const sky_send_options *o = nullptr)
    {
        sky_receipt *r;
        check(sky_producer_send(h_.get(), m.get(), o, &r));
        return receipt(r);
    }
    receipt send(const std::vector<message> &batch, const sky_send_options *o = nullptr)
    {
        std::vector<const sky_message *> all;
        for (const message &m : batch) all.push_back(m.get());
        sky_receipt *r;
        check(sky_producer_send_batch(h_.get(), all.data(), all.size(), o, &r));
        return receipt(r);
    }
    void send_async(const message &m, sent done, const sky_send_options *o = nullptr)
    {
        std::unique_ptr<sent> own(new sent(std::move(done)));
        check(sky_producer_send_async(h_.get(), m.get(), o, on_sent, own.get()));
        own.release();   // on_sent has it now
    }
    void send_oneway(const message &m, const sky_send_options *o = nullptr) { check(sky_producer_send_oneway(h_.get(), m.get(), o)); }
    void shutdown() { check(sky_producer_shutdown(h_.get())); }
    sky_producer *get() const noexcept { return h_.get(); }

private:
    static void on_sent(void *user, const sky_error *e, const sky_receipt *r)
    {
        std::unique_ptr<sent> own(static_cast<sent *>(user));
        (*own)(e, r);
    }
    detail::handle<sky_producer, sky_producer_free> h_;
};

}

#endif
