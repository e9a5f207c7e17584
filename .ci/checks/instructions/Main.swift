import Dispatch
import Glibc
import Networking
import Synchronization

/// Makes calls through one of the recorded stacks, `CountedStacks NAME CALLS`, or prints their names.
@main
struct CountedStacks {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]) else {
            return print(RecordedStacks.names.joined(separator: "\n"))
        }
        OneThread.replaceGlobalExecutor()
        Task.detached {
            let isKnown = try await RecordedStacks.call(arguments[1], times: count)
            precondition(isKnown, "no stack \(arguments[1])")
            exit(0)
        }
        OneThread.runForever()
    }
}

/// Runs all tasks on the first thread, in the order in which they become ready.
///
/// How many threads of Dispatch find work, and how often one wakes another, depends on the load of the machine. Also,
/// an asynchronous main function would end the first thread, and Valgrind 3.19 crashes when another one starts then.
private enum OneThread {
    /// The function in Swift's convention, which passes two pointers as that of C does.
    private typealias Hook = @convention(c) (_ job: OpaquePointer, _ original: OpaquePointer) -> Void

    private static let ready = Mutex<[UnownedJob]>([])
    private static let count = DispatchSemaphore(value: 0)

    /// Sets the hook that the runtime has for this purpose: `swift_task_enqueueGlobal_hook`.
    static func replaceGlobalExecutor() {
        let hook = dlsym(nil, "swift_task_enqueueGlobal_hook")!.assumingMemoryBound(to: Hook?.self)
        hook.pointee = { job, _ in
            OneThread.ready.withLock { $0.append(unsafeBitCast(job, to: UnownedJob.self)) }
            OneThread.count.signal()
        }
    }

    static func runForever() -> Never {
        // The runtime's own value for no particular executor.
        let global = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)
        while true {
            count.wait()
            run(ready.withLock { $0.removeFirst() }, on: global)
        }
    }
}

@_silgen_name("swift_job_run")
private func run(_ job: UnownedJob, on executor: UnownedSerialExecutor)
