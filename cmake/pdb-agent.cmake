# What relay/debuggee/pdb_install.c sends to a worker: one Python source, compressed, made of these in this order.
set(PDB_AGENT_PARTS values evaluate breakpoints tracer stack adapter install)
list(TRANSFORM PDB_AGENT_PARTS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/relay/debuggee/pdb_agent/\\1.py" OUTPUT_VARIABLE agent_files)
set(agent_c ${PROJECT_BINARY_DIR}/generated/pdb_agent.c)
if(CMAKE_CROSSCOMPILING) # the portable builds: this program runs here
  find_program(RAYDBG_HOST_CC NAMES gcc cc REQUIRED)
  set(pack ${PROJECT_BINARY_DIR}/pdb_agent_pack)
  add_custom_command(
    OUTPUT ${pack}
    COMMAND ${RAYDBG_HOST_CC} -O1 -o ${pack} ${PROJECT_SOURCE_DIR}/cmake/pdb_agent_pack.c -lz -lcrypto
    DEPENDS cmake/pdb_agent_pack.c
    VERBATIM)
else()
  set(pack pdb_agent_pack)
  add_executable(pdb_agent_pack cmake/pdb_agent_pack.c)
  target_link_libraries(pdb_agent_pack PRIVATE ${zlib_LIBRARIES} ${openssl_LIBRARIES})
endif()
add_custom_command(
  OUTPUT ${agent_c}
  COMMAND ${pack} ${agent_c} ${agent_files}
  DEPENDS ${pack} ${agent_files}
  COMMENT "packing relay/debuggee/pdb_agent"
  VERBATIM)
target_sources(relay_debuggee PRIVATE ${agent_c})
