//! What the process uses, under the names that every client of Prometheus gives to it. What the machine does not tell is
//! left out.

use model::Timestamp;

use super::text::Page;

pub(super) fn tell(page: &mut Page, started_at: Timestamp) {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let cpu = spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9;
    let name = "process_cpu_seconds_total";
    page.family(name, super::Kind::Counter, "CPU time that was used, in seconds.");
    page.sample(name, &[], cpu);
    page.gauge(
        "process_start_time_seconds",
        "When the process started, in seconds since 1970.",
        &[],
        started_at.as_nanosecond() as f64 / 1e9,
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (name, help, field, unit) in [
        ("process_resident_memory_bytes", "Memory that is in use.", "VmRSS:", 1024.0),
        ("process_virtual_memory_bytes", "Memory that is addressed.", "VmSize:", 1024.0),
        ("process_threads", "Threads.", "Threads:", 1.0),
    ] {
        if let Some(value) = number_after(&status, field) {
            page.gauge(name, help, &[], value * unit);
        }
    }
    // The folder is open while it is read, which is one of them.
    if let Some(open) = std::fs::read_dir("/proc/self/fd").ok().map(|folder| folder.count().saturating_sub(1))
    {
        page.gauge("process_open_fds", "Open files and sockets.", &[], open as f64);
    }
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    if let Some(most) = number_after(&limits, "Max open files") {
        page.gauge("process_max_fds", "The most open files and sockets that are allowed.", &[], most);
    }
}

/// The number after a name at the beginning of a line.
fn number_after(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_kernel() {
        let status = "Name:\tpunctual\nVmSize:\t  2048 kB\nThreads:\t9\n";
        assert_eq!(number_after(status, "VmSize:"), Some(2048.0));
        assert_eq!(number_after(status, "Threads:"), Some(9.0));
        assert_eq!(number_after(status, "VmRSS:"), None);
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files   1024   4096   files\n";
        assert_eq!(number_after(limits, "Max open files"), Some(1024.0));
    }
}
