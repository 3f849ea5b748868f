// Receives messages until so many came: ./consume_cpp [NAME_SERVERS [TOPIC [COUNT]]]
#include <skylark/skylark.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

int main(int argc, char **argv)
{
    const std::string servers = argc > 1 ? argv[1] : "127.0.0.1:9876", topic = argc > 2 ? argv[2] : "Hello";
    const size_t count = argc > 3 ? static_cast<size_t>(std::atoi(argv[3])) : 10;
    try {
        std::mutex lock;
        std::condition_variable changed;
        size_t received = 0;

        skylark::client client(servers);
        skylark::push_consumer_options options("hello_cpp");
        skylark::check(sky_push_consumer_options_set_start(options.get(), SKY_START_FIRST, 0));
        skylark::push_consumer consumer(client, options, [&](sky_consume_context *, const sky_message *const *messages, size_t n) {
            std::lock_guard<std::mutex> guard(lock);
            for (size_t i = 0; i < n; i++) std::printf("%s\n", skylark::body(messages[i]).c_str());
            received += n;
            changed.notify_one();
            return SKY_CONSUMED;
        });
        consumer.subscribe(topic);

        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [&] { return received >= count; });
        guard.unlock();
        consumer.shutdown();
        return 0;
    } catch (const skylark::error &e) {
        std::fprintf(stderr, "%s: %s\n", sky_code_name(e.code()), e.what());
        return 1;
    }
}
