import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.rocketmq.srvutil.ServerUtil;
import org.apache.rocketmq.tools.command.MQAdminStartup;
import org.apache.rocketmq.tools.command.SubCommand;

/**
 * Runs sub-commands of mqadmin in one process against one name server (the argument). A line of standard input holds several commands between
 * "\2", words between tabs; they run side by side, as each spends most of its time with its client's start and end. Each answer ends with a line "\1".
 */
public final class Runner {
    private static final InheritableThreadLocal<ByteArrayOutputStream> CAPTURE = new InheritableThreadLocal<>();
    private static final int AT_ONCE = 12;
    private static final int APART_MS = 30; // a client is named after the millisecond in which it is made

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setProperty("rocketmq.namesrv.addr", args[0]);
        System.setOut(new PrintStream(new Captured(), true, StandardCharsets.UTF_8));
        MQAdminStartup.initCommand();
        java.lang.reflect.Field f = MQAdminStartup.class.getDeclaredField("SUB_COMMANDS");
        f.setAccessible(true);
        @SuppressWarnings("unchecked")
        Collection<SubCommand> commands = (Collection<SubCommand>) f.get(null);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.println("\1");
        for (String line; (line = in.readLine()) != null;) {
            for (String answer : runAll(commands, line.split("\2"))) {
                out.print(answer);
                out.println("\n\1");
            }
        }
        System.exit(0);
    }

    private static String[] runAll(Collection<SubCommand> commands, String[] lines) throws Exception {
        String[] answers = new String[lines.length];
        ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < lines.length; i++) {
            int n = i;
            running.add(pool.submit(() -> answers[n] = run(commands, lines[n].split("\t"))));
            Thread.sleep(APART_MS);
        }
        for (Future<?> r : running) {
            r.get();
        }
        pool.shutdown();
        for (int i = 0; i < lines.length; i++) {
            // two clients had one name after all, or this machine was too busy for the tool's own time limits
            if (answers[i].contains("has been created before") || answers[i].contains("created already") || answers[i].contains("wait response on the channel")) {
                answers[i] = run(commands, lines[i].split("\t"));
            }
        }
        return answers;
    }

    private static String run(Collection<SubCommand> commands, String[] words) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        CAPTURE.set(text);
        try {
            SubCommand listed = commands.stream().filter(c -> c.commandName().equals(words[0])).findFirst().orElseThrow();
            SubCommand command = listed.getClass().getDeclaredConstructor().newInstance(); // some keep clients of the last run
            Options options = command.buildCommandlineOptions(ServerUtil.buildCommandlineOptions(new Options()));
            CommandLine parsed = new DefaultParser().parse(options, Arrays.copyOfRange(words, 1, words.length));
            command.execute(parsed, options, null);
        } catch (Throwable e) {
            Throwable cause = e;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            System.out.println("ERROR " + cause.getMessage());
        } finally {
            System.out.flush();
            CAPTURE.remove();
        }
        return text.toString(StandardCharsets.UTF_8);
    }

    /** What a command prints is its own thread's. */
    private static final class Captured extends OutputStream {
        @Override
        public void write(int b) {
            ByteArrayOutputStream c = CAPTURE.get();
            if (c != null) {
                c.write(b);
            }
        }

        @Override
        public void write(byte[] b, int off, int len) {
            ByteArrayOutputStream c = CAPTURE.get();
            if (c != null) {
                c.write(b, off, len);
            }
        }
    }
}
