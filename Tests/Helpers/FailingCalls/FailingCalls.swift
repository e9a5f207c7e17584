#if os(Linux) && SQLite
import Foundation

/// Lets each system call of a scenario fail once, and checks the files that are left, for tests.
///
/// It runs with the library of `failing-calls.c` in `LD_PRELOAD`.
///
/// Arguments:
///
/// - `run <scenario> <fault> <directory>` runs the scenario again and again: in the n-th run, the n-th call to which the
///   fault applies fails. It stops after a run in which no call failed. Each run has its own subdirectory. The variable
///   `FAILING_CALLS_RUNS` limits the number of runs, which then skip calls at equal distances.
/// - `verify <scenario> <fault> <directory>` reads the files of all runs, without failures. It needs no library.
///
/// Each line of its output is one of these:
///
/// - `problem 7 …`: what is wrong with run 7, and the call that failed in it
/// - `runs 31`: the number of runs, after the last one
///
/// It also ends with its standard input.
@main
enum FailingCalls {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let scenario = scenarios[arguments[2]], let fault = Fault(rawValue: arguments[3])
        else { fatalError("usage: FailingCalls run|verify <scenario> <fault> <directory>") }
        endWithParent()
        let steps = Steps(of: scenario, fault, in: URL(filePath: arguments[4]))
        if arguments[1] == "run" {
            try await steps.run()
        } else {
            try await steps.verify()
        }
    }

    /// Writes a line at once, and not through a buffer that would end with the process.
    static func print(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    /// Ends this process when its standard input ends, which it does with the process of the tests, however that ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }
}
#else
@main
enum FailingCalls {
    static func main() {}
}
#endif
